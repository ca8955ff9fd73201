"""What a testbed in a Slurm job has to stand: too few nodes, steps that die, and the end of the job."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.conftest import SMALL
from tests.contract.test_site_ssh import SLEEPER, runs_of, sleepers, within
from tests.support.site import EXECUTOR, SEEN_BY_NODES
from whitewire.errors import UserError
from whitewire.install import doctor
from whitewire.paths import HOME
from whitewire.testbed.base import CommandFailed
from whitewire.testbed.site import shell
from whitewire.testbed.site.job import JobTestbed, nodes_of
from whitewire.testbed.site.remote_host import CutOff


def test_nodes_are_dealt_out_in_the_order_of_the_roles(slurm_testbed, slurm_site, slurm_config):
    nodes = nodes_of(slurm_config)
    assert sorted(nodes) == sorted(host.name for host in slurm_site.testbed.hosts)
    assert [host.target for host in slurm_testbed.hosts] == nodes
    for host in slurm_testbed.hosts:
        assert host.run(["hostname"]).stdout.decode().strip() == host.target
        assert not [line for line in host.run(["env"]).stdout.decode().splitlines() if line.startswith("SLURM")]


def test_an_allocation_that_is_too_small(slurm_site, slurm_config):
    with pytest.raises(UserError, match=r"found 6 nodes, expected 15 \(1 namenode, 11 datanode, 3 client\)"):
        JobTestbed(slurm_config, {"namenode": 1, "datanode": 11, "client": 3})


def test_the_look_before_names_a_sick_node(slurm_site, slurm_config, capfd):
    JobTestbed.whole(slurm_config).preflight()
    assert " NO " not in capfd.readouterr().err
    sick = slurm_site.testbed.host("datanode2")
    slurm_site.hide(sick, "/usr/bin/java", b"", "644")
    try:
        with pytest.raises(UserError, match=r"1 of 6 hosts cannot be used: \w+ \(datanode2\): no Java"):
            JobTestbed(slurm_config, SMALL).preflight()
    finally:
        slurm_site.as_root(sick, "umount", "/usr/bin/java")


def test_large_output_and_input_pass_whole(slurm_testbed):
    content = os.urandom(1_000_000)
    host = slurm_testbed.host("client")
    host.put(content, f"{host.scratch}/large")
    assert host.get(f"{host.scratch}/large") == content


def test_what_a_prolog_prints_is_no_part_of_what_commands_say(slurm_testbed):
    host = slurm_testbed.host("datanode1")
    assert "Slurm Task Prolog" in subprocess.run(host.carry("true"), capture_output=True, text=True).stdout
    assert host.run(["cat"], stdin=b"\0binary").stdout == b"\0binary"
    assert abs(host.clock_offset()) < 5


def cutting(host, times, monkeypatch):
    """The next `times` steps lose their srun before they say anything; the list of those that did."""
    cut, popen = [], host.popen

    def popen_and_kill(command, **options):
        one = popen(command, **options)
        if len(cut) < times:
            os.killpg(one.pid, signal.SIGKILL)
            cut.append(one)
        return one

    monkeypatch.setattr(host, "popen", popen_and_kill)
    return cut


def test_what_may_run_twice_does_where_srun_broke_off(slurm_testbed, monkeypatch):
    host = slurm_testbed.host("client")
    cut = cutting(host, 2, monkeypatch)
    host.put(b"content", f"{host.scratch}/twice")
    assert len(cut) == 2
    assert host.get(f"{host.scratch}/twice") == b"content"
    cut.clear()
    with pytest.raises(CutOff, match="connection: exit status -9"):
        host.run(["true"])


def test_a_lost_step_cleans_its_node_and_no_other(slurm_site, slurm_config, tmp_path, monkeypatch):
    """A step does not learn that its srun was killed: only that nothing comes any more."""
    monkeypatch.setattr(shell, "WATCH_PATIENCE_S", 3)
    monkeypatch.setattr(shell, "BEAT_S", 0.5)
    with JobTestbed(slurm_config, SMALL) as testbed:
        lost, kept = testbed.host("datanode1"), testbed.host("datanode2")
        for host in (lost, kept):
            host.start(SLEEPER, tmp_path / host.name).wait_ready("started", timeout=10)
        os.killpg(lost.watcher.pid, signal.SIGKILL)
        run = testbed.layout.run
        assert within(10, lambda: sleepers(slurm_site, lost.target) == 0 and not runs_of(slurm_site, lost.target, run))
        with pytest.raises(CommandFailed, match="the connection is lost"):
            lost.run(["true"])
        assert sleepers(slurm_site, kept.target) == 2
        assert kept.run(["true"]).status == 0


PROGRAM = """
import json, os
from whitewire.testbed.site.job import JobTestbed
with JobTestbed(json.loads({config!r}), {{"namenode": 1, "datanode": 2}}) as testbed:
    print(os.environ["SLURM_JOB_ID"], *(host.run(["hostname"]).stdout.decode().strip() for host in testbed.hosts))
"""
SNAKEFILE = """
include: "{home}/workflow/rules/ending.smk"
class start:
    begin = staticmethod(lambda: None)
class results:
    has_verdicts = staticmethod(lambda testbed: False)
class plan:
    testbed = "lab"
localrules: all
rule all:
    input: "out.txt", "long.txt"
rule measure:
    output: "{{name}}.txt"
    params: program=lambda wildcards: {programs!r}[wildcards.name]
    threads: workflow.cores
    resources: measuring=1, mpi="srun", nodes=3, tasks=3, runtime=5
    shell: "exec setpriv --pdeathsig KILL {{params.program}} > {{output}}"
"""


@SEEN_BY_NODES
def test_the_profile_measures_in_jobs_of_their_own_and_says_which_was_cancelled(slurm_site, slurm_config):
    """A rule that asks for nodes as `measure` does, on two jobs that Snakemake submits with profiles/slurm."""
    programs = {"out": f"{sys.executable} program.py", "long": "sh -c 'echo $SLURM_JOB_ID; exec sleep 300'"}
    files = {
        "Snakefile": SNAKEFILE.format(home=HOME, programs=programs),
        "program.py": PROGRAM.format(config=json.dumps(slurm_config)),
    }
    slurm_site.slurm("scancel", slurm_site.job)
    try:
        with tempfile.TemporaryDirectory(dir=HOME / ".cache") as name:  # nodes see it: /tmp is each node's own
            folder = Path(name)
            for file, text in files.items():
                (folder / file).write_text(text)
            argv = [sys.executable, "-m", "snakemake", "--profile", HOME / "profiles/slurm", "--directory", folder,
                    "--snakefile", folder / "Snakefile", "--slurm-init-seconds-before-status-checks", "2",
                    "--seconds-between-status-checks", "2"]  # fmt: skip
            outside = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"}
            with subprocess.Popen(argv, env=outside | EXECUTOR, stderr=subprocess.PIPE, text=True) as popen:
                long = folder / "long.txt"
                assert within(180, lambda: long.exists() and long.read_text())
                cancelled = long.read_text().strip()
                slurm_site.slurm("scancel", cancelled)
                said = popen.communicate(timeout=240)[1]
            assert popen.returncode == 1
            assert f"measure: SLURM-job '{cancelled}' failed, SLURM status is: 'CANCELLED'" in said
            job, *nodes = (folder / "out.txt").read_text().split()
            assert f"SLURM-job '{job}' failed" not in said
        assert job not in (slurm_site.job, cancelled)
        assert len(set(nodes)) == 3
        assert "Requeue=0" in slurm_site.slurm("scontrol", "show", "job", job).stdout
    finally:
        slurm_site.rejoin()


def test_the_doctor_says_what_the_profile_lacks(slurm_site, slurm_config):
    assert doctor.slurm().ok
    conf = f"{slurm_site.folder}/slurm/slurm.conf"
    text = slurm_site.testbed.inside(["cat", conf]).stdout
    try:
        slurm_site.write(conf, text + b"MinJobAge=2\n", "644")
        slurm_site.slurm("scontrol", "reconfigure")
        found = doctor.slurm()
        assert not found.ok
        assert "MinJobAge is 2 s, 200 s are needed" in found.state
        assert "MinJobAge=200 in slurm.conf" in found.remedy
    finally:
        slurm_site.write(conf, text, "644")
        slurm_site.slurm("scontrol", "reconfigure")


def test_a_warning_to_all_steps_leaves_no_folder(slurm_site, slurm_config):
    """`sbatch --signal=USR1@60` without `B:`."""
    with JobTestbed(slurm_config, SMALL) as testbed:
        names, run = [host.target for host in testbed.hosts], testbed.layout.run
        slurm_site.slurm("scancel", "--signal=USR1", slurm_site.job)
        time.sleep(1)
        assert all(host.connected for host in testbed.hosts)
    assert not any(runs_of(slurm_site, name, run) for name in names)


def test_the_end_of_the_job_ends_all_of_it(slurm_site, slurm_config, tmp_path):
    job = slurm_site.job
    try:
        with JobTestbed(slurm_config, SMALL) as testbed:
            daemons = [host.start(SLEEPER, tmp_path / host.name) for host in testbed.hosts]
            for daemon in daemons:
                daemon.wait_ready("started", timeout=10)
            slurm_site.slurm("scancel", job)
            assert within(15, lambda: not any(daemon.alive for daemon in daemons))
            names = [host.target for host in testbed.hosts]
            run = testbed.layout.run
            assert within(15, lambda: not any(sleepers(slurm_site, n) or runs_of(slurm_site, n, run) for n in names))
            with pytest.raises(CommandFailed):
                testbed.hosts[0].run(["true"])
        with pytest.raises(UserError, match=f"job {job}: found state (CANCELLED|COMPLETING), expected RUNNING"):
            JobTestbed(slurm_config, SMALL)
    finally:
        time.sleep(0.5)
        slurm_site.rejoin()
