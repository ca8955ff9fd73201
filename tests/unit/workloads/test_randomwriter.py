"""Writers of records of random length: their arguments, and how far from what was asked they may be."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from whitewire.records.result import Result
from whitewire.workloads import run_proofs, workload_of
from whitewire.workloads.randomwriter import RandomTextWriter

SIZE = 6_000_001


FABRIC = {"rate": 1000.0, "burst": 0, "racks": 0, "unlike": {}}


def run(name):
    did = []

    def record(act, user_bytes, **files):
        return Result({"workload": name, "jobs": act({}), "user_bytes": user_bytes, "asked": {"size_bytes": 1.0e9}}, {})

    bench = SimpleNamespace(
        parameters={"maps": 3},
        scale=SimpleNamespace(file_bytes=SIZE, block_bytes=1_000_000),
        files=SimpleNamespace(begin=lambda: did.append("begin"), output=lambda name: f"/output/{name}"),
        jobs=SimpleNamespace(
            options=lambda: {"dfs.replication": 2}, record=record,
            submit=lambda tool, arguments, what, kept: did.append([tool, *arguments]) or {"name": what},
        ),
    )  # fmt: skip
    return workload_of(name).run(bench).record, did


def test_each_task_has_an_equal_share():
    record, did = run("randomtextwriter")
    begun, (tool, *arguments) = did
    assert begun == "begin" and tool == "org.apache.hadoop.examples.RandomTextWriter"
    assert arguments == [
        "-Dmapreduce.randomtextwriter.totalbytes=6000000", "-Dmapreduce.randomtextwriter.bytespermap=2000000",
        "-Ddfs.replication=2", "/output/random",
    ]  # fmt: skip
    assert record["user_bytes"] == SIZE and record["jobs"] == [{"name": "randomtextwriter"}]


def test_another_form_stands_before_the_target():
    form = ("-outFormat", "Text")
    assert RandomTextWriter().arguments("/t", 10, 2, {}, form)[-3:] == ["-outFormat", "Text", "/t"]


@pytest.mark.parametrize(("name", "beyond"), [("randomwriter", 0.026), ("randomtextwriter", 0.032)])
def test_what_was_written_is_what_was_asked_and_the_last_records(name, beyond):
    record, _ = run(name)

    def proof(written):
        files = {"output": {"bytes": round(written), "files": 3}}
        (found,) = run_proofs(record | {"fabric": FABRIC, "evidence": {"files": files}})
        return found

    assert record["inexact"] == pytest.approx(beyond, abs=0.001)
    assert proof(SIZE).same and proof(SIZE * (1 + 0.9 * beyond)).same
    assert not proof(SIZE * (1 + 1.2 * beyond)).same and not proof(SIZE / 2).same
    assert proof(SIZE / 2).fault.startswith("size_bytes: asked 6000001 B, found 3000000 B")
