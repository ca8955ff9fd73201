"""What `whitewire plan` says of an experiment agrees with what runs took."""

from __future__ import annotations

from pathlib import Path

import pytest

from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design
from whitewire.workflow import outlook

TEMPLATE = Path(__file__).resolve().parents[3] / "docs" / "template" / "paper.yaml"
MEASURED = [  # medians of runs on two processors: jobs?, user bytes, seconds, CPU seconds
    (False, 18874368, 8.95, 5.66), (False, 18874368, 2.24, 2.19), (False, 8388608, 6.89, 2.96),
    (False, 18874368, 2.52, 1.35), (True, 144000000, 8.92, 13.58), (True, 144000000, 20.30, 16.12),
    (True, 12000000, 17.11, 9.67), (True, 20000000, 22.55, 11.74), (True, 4000000, 7.88, 6.48),
    (True, 25165824, 18.89, 14.36), (True, 4800000, 15.49, 11.85), (True, 3200000, 9.53, 6.30),
]  # fmt: skip


@pytest.mark.parametrize(("jobs", "size", "seconds", "cpu"), MEASURED)
def test_processors_are_estimated_within_a_factor_of_two(jobs, size, seconds, cpu):
    assert 0.5 < outlook.busy_cores(jobs, size, seconds) / (cpu / seconds) < 2


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(outlook.os, "cpu_count", lambda: 2)


@pytest.fixture(scope="module")
def outlook_lines():
    testbed = load_testbed("emulated")
    paper = load_paper(TEMPLATE, fabric_names(testbed))

    def lines(effort="quick", k=30):
        paper.raw["scale"]["k"] = k
        return list(outlook.outlook_lines(paper, make_design(paper, testbed, effort, 1), testbed))

    return lines


def test_it_says_what_a_run_moves_and_how_fast(outlook_lines):
    first, slow, fast = outlook_lines()
    # 64 MiB ÷ 30 in whole granules of 512 bytes; four blocks at quick effort.
    assert (
        first == "  ingest: hdfs_put, k 30; a run moves 4 files of 8.95 MB in 4 blocks of 2.24 MB, data fraction 0.0537"
    )
    assert slow.startswith("    fabric 1gbe: about 10 s a run; ") and "links of 4.17 MB/s each" in slow
    assert fast.startswith("    fabric 20gbe: about ") and "links of 83.3 MB/s each" in fast
    assert "of 2 processors busy" in fast


def test_it_says_what_to_change(outlook_lines):
    assert any("too many, take a larger k" in line for line in outlook_lines(k=2))
    assert not any("too many" in line for line in outlook_lines(k=400))


def test_it_proposes_the_next_k_that_does(outlook_lines):
    (proposal,) = [line for line in outlook_lines(k=2) if "proposal: " in line]
    found = int(proposal.partition("proposal: k ")[2].split()[0])
    assert 2 < found <= 30 and "MB of each file at quick effort, at most " in proposal
    assert not any("too many" in line or "proposal" in line for line in outlook_lines(k=found))


def test_it_proposes_more_bytes_where_a_job_hardly_takes_longer_than_its_overhead(tmp_path):
    testbed = load_testbed("emulated")
    page = (TEMPLATE.parents[1] / "use" / "worked-example.md").read_text(encoding="utf-8")
    path = tmp_path / "osu-testdfsio.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    paper = load_paper(path, fabric_names(testbed))

    def lines(times):
        paper.raw["experiments"][0]["scale"]["bytes"] = dict.fromkeys(("smoke", "quick", "full"), times * 2**16)
        return list(outlook.outlook_lines(paper, make_design(paper, testbed, "quick", 1), testbed))

    (proposal,) = [line for line in lines(1) if "proposal: " in line]
    assert "k 160 and " in proposal
    more = [times for times in outlook.TIMES_THE_BYTES if not any("proposal" in line for line in lines(times))]
    assert more and f"{more[0] * 2**16 / 1e6:.3g} MB of each file" in proposal
