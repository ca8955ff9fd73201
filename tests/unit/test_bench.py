"""The scripts in bench/ start: a stale import or option of theirs fails here, not when somebody needs a figure.

What they measure on a cluster, tests/integration/test_bench.py looks at.
"""

import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bench import interim
from whitewire import lanes
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


def test_a_lane_of_the_comparison_that_ends_early_goes_to_no_other_block(tmp_path, monkeypatch):
    started = []

    def start(argv, env):
        started.append(env[lanes.VARIABLE])
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(subprocess, "Popen", start)
    runpy.run_path(str(HOME / "bench" / "lanes.py"))["side_by_side"]("emulex-2012", 2, 60.0, tmp_path)
    monkeypatch.setenv(lanes.VARIABLE, started[0])
    with lanes.lane("emulex-2012/known"), lanes.further_lane() as further:
        assert (lanes.most(), lanes.free(), further) == (2, 0, 0)
