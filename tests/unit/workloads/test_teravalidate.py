"""TeraValidate as a job of its own."""

from __future__ import annotations

from types import SimpleNamespace

from whitewire.workloads import workload_of


def test_rows_are_not_read_from_the_caches_of_those_who_sorted_them():
    did = []
    sums = "checksum\t1\n"
    bench = SimpleNamespace(
        parameters={"maps": 2, "replication": 3},
        scale=SimpleNamespace(file_bytes=1000, block_bytes=500),
        files=SimpleNamespace(begin=lambda: None, output=lambda name: f"/output/{name}",
                              drop_caches=lambda: did.append("caches dropped")),
        shaping=SimpleNamespace(lift=lambda: None),
        client=SimpleNamespace(tool=lambda *said: did.append(said[-1]), cat=lambda path: sums),
        jobs=SimpleNamespace(
            options=dict, input=lambda kind, make: "/input/rows", record=lambda act, user_bytes, **files: act({}),
            submit=lambda tool, arguments, what, kept: did.append(what),
        ),
    )  # fmt: skip
    workload_of("teravalidate").run(bench)
    assert did == ["rows in order", "caches dropped", "teravalidate"]
