"""The scripts in bench/ start: a stale import or option of theirs fails here, not when somebody needs a figure.

What they measure on a cluster, tests/integration/test_bench.py looks at.
"""

import json
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bench import interim
from whitewire import lanes
from whitewire.lanes import LANES_VARIABLE
from whitewire.paths import HOME

SCRIPTS = sorted(path.name for path in (HOME / "bench").glob("*.py"))


def _run(*argv):
    command = [sys.executable, *argv]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_what_it_takes(script):
    done = _run(f"bench/{script}", "--help")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(f"usage: {script}")


def test_coverage_needs_no_cluster():
    done = _run("bench/coverage.py", "--simulations", "2")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "coverage" in done.stdout


def test_interim_analyses_need_no_cluster():
    """Four ways to end for each setting; a level or a variant that is lost fails here."""
    for options, lines in (((), 4 * len(interim.SETTINGS)), (("--variants",), len(list(interim.variants())))):
        done = _run("bench/interim.py", "--designs", "4", *options)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.count("\n| ") == lines


def test_a_study_of_nothing_measures_nothing(tmp_path):
    done = _run("bench/study.py", "emulex-2012", "no-such-experiment", "--folder", str(tmp_path / "study"))
    assert done.returncode == 2
    assert "no run of no-such-experiment at full effort" in done.stderr
    assert not (tmp_path / "study").exists()


def test_a_study_of_a_description_says_what_it_would_measure():
    done = _run("bench/study.py", "config/suspects/blocks-tasks-memory.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "5 x few-1gbe 48\n" in done.stdout and "3 x dfsio 1 on\n" in done.stdout
    assert "42 runs on 2 clusters: " in done.stdout


def test_a_study_counts_what_came_into_the_busiest_worker(tmp_path, capsys):
    workers = ["a", "b"]
    for number, more in enumerate((0, 1, 2)):
        folder = tmp_path / "runs" / f"r{number}"
        folder.mkdir(parents=True)
        record = {
            "experiment": "few", "factors": {"maps": 12}, "workers": workers, "start": 10.0, "end": 16.0,
            "floors": {"teragen": 2.0}, "fabric": {"rate": 1.0},
            "links_before": {host: {"ingress": 100} for host in workers},
            "links_after": {"a": {"ingress": 100_100}, "b": {"ingress": 300_100 + 1000 * more}},
        }  # fmt: skip
        (folder / "run.json").write_text(json.dumps(record))
    runpy.run_path(str(HOME / "bench" / "study.py"))["show_links"](tmp_path)
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| few 12")]
    _, cell, uneven, interval, runs, link, _ = (part.strip() for part in row.split("|"))
    assert (cell, uneven, runs, link) == ("few 12", "1.501", "3", "0.60")  # 301 kB in 4 s of 125 kB/s
    low, _, high = interval.partition(" to ")
    assert float(low) < 1.501 < float(high)


def test_a_lane_of_the_comparison_that_ends_early_goes_to_no_other_block(tmp_path, monkeypatch):
    started = []

    def start(argv, env):
        started.append(env[LANES_VARIABLE])
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(subprocess, "Popen", start)
    runpy.run_path(str(HOME / "bench" / "lanes.py"))["side_by_side"]("emulex-2012", 2, 60.0, tmp_path)
    monkeypatch.setenv(LANES_VARIABLE, started[0])
    with lanes.lane("emulex-2012/known"), lanes.further_lane() as further:
        assert (lanes.most(), lanes.free(), further) == (2, 0, 0)
