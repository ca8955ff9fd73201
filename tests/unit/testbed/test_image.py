"""The image that a site's hosts run in: command lines, what Apptainer says, and a host's life with sh as the image."""

import hashlib
import os
import shlex
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.testbed import test_remote
from tests.unit.testbed.test_remote_host import PLACE, Here
from tests.unit.testbed.test_schedulers import BY_COMMAND, TOOLS, tool
from whitewire.description.files import validate_by_schema
from whitewire.errors import UserError
from whitewire.testbed.site import deployment, image, preflight, shell
from whitewire.testbed.site.image import Image, fault_of_image, image_of
from whitewire.testbed.site.inventory import Place
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import Layout
from whitewire.testbed.site.schedulers import SCHEDULERS

APPTAINER = """#!/bin/sh
# Takes the command line of the real one, notes it, and runs the command without an image.
if [ "$1" = --version ]; then echo apptainer version 1.5.3; exit; fi
printf '%s\\n' "$@" -- >> {log}
if [ "$1" = --quiet ]; then shift; fi
shift
while [ "${{1#-}}" != "$1" ]; do
    case $1 in
        --contain | --no-home) shift ;;
        --env) export "$2"; shift 2 ;;
        *) shift 2 ;;
    esac
done
{says}
shift
exec "$@"
"""
CONTENT = b"SIF_MAGIC\n"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site(tmp_path):
    """A site's description, with `apptainer` on the path of its hosts and an image there."""
    for folder in ("work", "data", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hadoop.sif").write_bytes(CONTENT)
    apptainer(tmp_path)
    return {
        "work": str(tmp_path / "work"), "data": [str(tmp_path / "data")], "path": [str(tmp_path / "bin")],
        "image": {"path": str(tmp_path / "hadoop.sif")}, "fabrics": {"10gbe": {"rate_mbit_per_s": 1}},
        "memory": {"minimum_gib": 0.1},
    }  # fmt: skip


def apptainer(top: Path, says: str = "") -> None:
    path = top / "bin" / "apptainer"
    path.write_text(APPTAINER.format(log=shlex.quote(str(top / "log")), says=says))
    path.chmod(0o755)


@pytest.fixture
def testbed(site):
    layout = Layout.of(site)
    return RemoteTestbed(site, [Here(PLACE, layout)], layout, "x.yaml")


@pytest.fixture
def host(testbed, tmp_path):
    (made,) = testbed.hosts
    made.open(tmp_path)
    yield made
    made.release()
    assert made.closed(15)


def calls(top: Path) -> list[list[str]]:
    text = (top / "log").read_text() if (top / "log").exists() else ""
    return [call.splitlines() for call in text.split("--\n") if call]


# -- what the description says -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "image: found {}, expected at least 1 key"),
        ({"path": "/a.sif", "copy": "b.sif"}, "image: found "),
        ({"path": "a.sif"}, 'image.path: found "a.sif"'),
        ({"file": "/a.sif"}, "image.file: found an unknown key, expected one of copy, path, pull"),
        ({"pull": "docker://debian:12"}, 'image.pull: found "docker://debian:12"'),
        ({"pull": "docker://debian@sha256:12"}, "image.pull: found "),
    ],
)
def test_faults_of_the_key(given, said):
    described = test_remote.example("ssh") | {"image": given}
    with pytest.raises(UserError) as error:
        validate_by_schema(described, "testbed", "x.yaml")
    assert str(error.value).startswith("x.yaml: ") and said in str(error.value)


def test_an_image_that_hosts_have_one_that_they_get_and_none(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").touch()
    assert image_of({key: value for key, value in site.items() if key != "image"}, "x.yaml") is None
    more = {"cluster": {"configuration": "/etc/hadoop"}, "mount": {"path": "/lustre/me"}}
    there = image_of(site | more, "x.yaml")
    assert there == Image(site["image"]["path"], (site["work"], *site["data"], "/etc/hadoop", "/lustre/me"))
    for name in ("hadoop.sif", str(tmp_path / "hadoop.sif")):
        sent = image_of(site | {"image": {"copy": name}}, "x.yaml")
        assert (sent.file, sent.local.read_bytes()) == (f"{site['work']}/image-{SHA[:12]}.sif", CONTENT)
        assert sent.digest == SHA
    with pytest.raises(UserError, match=r"^x.yaml: image.copy: .*/none.sif: No such file or directory, expected an"):
        image_of(site | {"image": {"copy": "none.sif"}}, "x.yaml")


PULL = """#!/bin/sh
printf '%s\\n' "$@" >> {log}
{does}
"""


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """This machine's Apptainer, as it pulls; what it does is the second argument."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def does(text: str) -> None:
        path = tmp_path / "bin" / "apptainer"
        path.write_text(PULL.format(log=tmp_path / "log", does=text))
        path.chmod(0o755)

    return does


REFERENCE = f"oras://registry.example.org/lab/hadoop@sha256:{'ab' * 32}"


def test_an_image_of_a_registry_is_pulled_once(site, tmp_path, registry, capfd):
    registry('rm "$3"; printf "SIF_MAGIC\\n" > "$3"')
    for _ in range(2):
        found = image_of(site | {"image": {"pull": REFERENCE}}, "x.yaml")
        assert (found.digest, found.local.name) == (SHA, f"{'ab' * 32}.sif")
    words = (tmp_path / "log").read_text().splitlines()
    assert (words[:2], words[3:]) == (["pull", "--force"], [REFERENCE])
    assert capfd.readouterr().err == f"image: pulling {REFERENCE}\n"


def test_an_image_that_cannot_be_pulled_is_one_line(site, tmp_path, registry, monkeypatch):
    registry("echo 'INFO:    Downloading oras image' >&2\n"
             "echo 'FATAL:   While pulling image from oci registry: failed to pull' >&2; exit 255")  # fmt: skip
    with pytest.raises(UserError, match=f"^x.yaml: image.pull: {REFERENCE}: FATAL: .* failed to pull$"):
        image_of(site | {"image": {"pull": REFERENCE}}, "x.yaml")
    assert not list((tmp_path / ".cache" / "images").iterdir())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        UserError, match=r"image.pull: found no apptainer on this machine.*name the file with image.copy"
    ):
        image_of(site | {"image": {"pull": REFERENCE}}, "x.yaml")


# -- the command line ----------------------------------------------------------------------------------------


def test_what_a_command_sees_of_its_machine(host, site, tmp_path):
    assert host.run(["pwd"]).check().stdout.decode().strip() == host.scratch
    (words,) = calls(tmp_path)
    assert words[:6] == ["--quiet", "exec", "--contain", "--no-home", "--bind", "/dev,/tmp,/var/tmp"]
    assert words[6] == "--env" and words[7].startswith(f"{shell.MARKER}={host.layout.run}.")
    assert words[8:12] == ["--bind", site["work"], "--bind", site["data"][0]]
    assert words[12:15] == [site["image"]["path"], "/bin/sh", "-c"]


def test_only_folders_that_are_there_are_bound(tmp_path, site):
    made = Image("/i.sif", (site["work"], "/nowhere", "/has space"))
    done = subprocess.run(["sh", "-c", made.around("echo \"it's\" in", f"{tmp_path}/bin:/usr/bin:/bin")],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "it's in\n"
    ((*words,),) = calls(tmp_path)
    assert words[1:7] == [*image._FLAGS, "--bind", site["work"]]
    assert words[7:] == ["/i.sif", "/bin/sh", "-c", 'echo "it\'s" in']


def test_apptainers_own_processes_carry_no_mark(host, tmp_path):
    """Killed with the run's processes it could not unmount the image: it ends after them by itself."""
    apptainer(tmp_path, 'tr "\\0" "\\n" < /proc/$$/environ > "$0.environ"')
    names = {line.split("=")[0] for line in host.run(["env"]).check().stdout.decode().splitlines()}
    assert shell.MARKER in names
    assert {line.split("=")[0] for line in (tmp_path / "bin" / "apptainer.environ").read_text().split()} == {
        "PATH", "LC_ALL"}  # fmt: skip


def test_a_daemon_in_an_image_is_known_by_its_own_number(host, tmp_path):
    daemon = host.start(["sh", "-c", "echo $$; exec sleep 60"], tmp_path / "daemon.log")
    (number,) = daemon.wait_ready(r"(?m)^\d+$", timeout=10)
    assert int(Path(daemon.pid_file).read_text()) == int(number[0])
    assert daemon.cpu_seconds() >= 0
    daemon.stop()
    assert not daemon.alive and not Path(f"/proc/{number[0]}").exists()


def test_a_command_that_takes_too_long_is_ended_in_the_image(host):
    begin = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        host.run(["sleep", "60"], timeout=1)
    assert time.monotonic() - begin < 20


def test_what_is_of_the_machine_is_asked_outside(host, tmp_path):
    host.put(b"content", f"{host.scratch}/file")
    assert host.get(f"{host.scratch}/file") == b"content"
    assert host.run_outside(["true"]).status == 0
    host.start_outside(["true"], tmp_path / "log2", "true").popen.wait(timeout=10)
    host.clear_drives()
    assert abs(host.clock_offset()) < 5
    assert calls(tmp_path) == []
    assert host.ask({"where": "pwd"}, inside=True)["where"] == host.scratch
    assert len(calls(tmp_path)) == 1


def test_an_image_that_stops_working_is_named(host, tmp_path):
    apptainer(tmp_path, "echo 'FATAL:   could not open image /i.sif: no such file' >&2; exit 255")
    with pytest.raises(Exception, match=r"datanode1 \(here\): java: FATAL: +could not open image /i.sif"):
        host.run(["java"])


@pytest.mark.parametrize("kind", BY_COMMAND)
def test_each_schedulers_command_carries_what_runs_in_an_image(kind, site, tmp_path, monkeypatch):
    tool(tmp_path, *TOOLS[kind], monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    place = Place("datanode1", "datanode", "node02", "node02", {})
    host = SCHEDULERS[kind].host(place, Layout.of(site), site, ["node01", "node02"])
    host.image = image_of(site, "x.yaml")
    found = preflight.look(host)
    assert (found.silent, found.unfit, found.image) == ("", "", SHA)
    host.open(tmp_path)
    try:
        words = ["a  b", "it's", '"$HOME"', "\\n!", "", "*"]
        assert host.run(["printf", "%s|", *words]).check().stdout.decode() == "".join(f"{word}|" for word in words)
        daemon = host.start(["sh", "-c", "echo up; exec sleep 60"], tmp_path / "daemon.log")
        daemon.wait_ready("up", timeout=10)
        daemon.stop()
        assert not daemon.alive
        assert len(calls(tmp_path)) == 3
    finally:
        host.release()
        assert host.closed(15)
    assert [*(tmp_path / "work").iterdir(), *(tmp_path / "data").iterdir()] == []


# -- what Apptainer says -------------------------------------------------------------------------------------

GOOD = {"apptainer": "apptainer version 1.5.3", "image": f"{SHA}  /i.sif", "exec": "", "java": "", "programs": ""}
USERS = "no user namespaces for users: docs/sites/containers.md"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("ERROR  : Failed to create user namespace: user namespace disabled",
         f"ERROR  : Failed to create user namespace: user namespace disabled: {USERS}"),
        ("\x1b[91mERROR  : Failed to create user namespace: user namespace disabled\n\x1b[0m",
         f"ERROR  : Failed to create user namespace: user namespace disabled: {USERS}"),
        ("ERROR  : Failed to create user namespace: maximum number of user namespaces exceeded, check "
         "/proc/sys/user/max_user_namespaces",
         "ERROR  : Failed to create user namespace: maximum number of user namespaces exceeded, check "
         f"/proc/sys/user/max_user_namespaces: {USERS}"),
        ("ERROR  : Could not write info to setgroups: Permission denied\n"
         "ERROR  : Error while waiting event for user namespace mappings: no event received",
         f"ERROR  : Could not write info to setgroups: Permission denied: {USERS}"),
        ("FATAL:   While checking container encryption: could not open image /i.sif: the image's architecture (arm64) "
         "could not run on the host's (amd64)",
         "FATAL:   While checking container encryption: could not open image /i.sif: the image's architecture (arm64) "
         "could not run on the host's (amd64)"),
        ("INFO:    fuse2fs not found, will not be able to mount EXT3 filesystems\n"
         "FATAL:   container creation failed: mount hook function failure: mount /proc/self/fd/3->/var/apptainer/mnt/"
         "session/rootfs error: while mounting image /proc/self/fd/3: squashfuse_ll exited with status 1: fusermount3: "
         "mount failed: Operation not permitted",
         "FATAL:   container creation failed: mount hook function failure: mount /proc/self/fd/3->/var/apptainer/mnt/"
         "session/rootfs error: while mounting image /proc/self/fd/3: squashfuse_ll exited with status 1: fusermount3: "
         "mount failed: Operation not permitted"),
        ('FATAL:   "longcallr": executable file not found in $PATH',
         'FATAL:   "longcallr": executable file not found in $PATH'),
        ("", "ended without a message"),
    ],
)  # fmt: skip
def test_why_an_image_does_not_start(said, why):
    answers = {name: text for name, text in (GOOD | {"exec": said}).items() if name != "java"}
    assert fault_of_image(answers) == f"apptainer exec: {why}"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"exec": "INFO:    gocryptfs not found, will not be able to use gocryptfs"}, ""),
        ({"exec": "WARNING: underlay of /etc/localtime required more than 50 (79) bind mounts"}, ""),
        ({"apptainer": "", "exec": "env: 'apptainer': No such file or directory"}, "no apptainer (a folder that"),
        ({"image": ""}, "the image's file is not there"),
        ({"exec": "INFO:    squashfuse not found, will not be able to mount SIF or other squashfs files\n"
                  "INFO:    Converting SIF file to temporary sandbox..."}, "Apptainer cannot mount images"),
        ({"exec": "WARNING: Ignoring /data1 bind mount: user bind control disabled by system administrator"},
         "WARNING: Ignoring /data1 bind mount: user bind control disabled by system administrator"),
        ({"exec": "WARNING: Skipping /dev bind mount: disallowed by configuration"}, "WARNING: Skipping /dev bind"),
    ],
)  # fmt: skip
def test_what_keeps_an_image_from_being_used(changes, why):
    found = fault_of_image(GOOD | changes)
    assert found.startswith(why) and bool(found) == bool(why)


# -- before anything is started ------------------------------------------------------------------------------


def seen(changes=None, **changed):
    found = {"apptainer": "apptainer version 1.5.3", "image": f"{SHA}  /i.sif", "exec": ""} | (changes or {})
    return test_remote.seen(**found, **changed)


NEEDS = replace(test_remote.NEEDS, image=SHA)


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (lambda: seen(), []),
        (lambda: seen({"image": f"{'c' * 64}  /i.sif"}), [f"image {'c' * 12}, on other hosts {SHA[:12]}"]),
        (lambda: seen(java="sh: 1: java: not found"), ["no Java in the image"]),
        (lambda: seen(java='openjdk version "11.0.2"'), ["Java 11 in the image, 17 is needed"]),
        (lambda: seen(programs="fio\ncurl", missing="awk"), ["no awk, fio in the image"]),
        (lambda: seen({"image": ""}), ["the image's file is not there"]),
    ],
)
def test_hosts_whose_image_cannot_be_used(report, problem):
    assert preflight.problems(report(), NEEDS) == problem


def test_a_host_whose_image_does_not_start_still_reports_all_else():
    answers = shell.answers(test_remote.said(missing="awk"))
    left = {name: text for name, text in answers.items() if name and name not in shell.SOFTWARE}
    left |= {"apptainer": "a", "image": f"{SHA}  /i", "exec": "FATAL:   x"}
    text = "\n".join(f"{shell.SECTION}{name}\n{value}" for name, value in left.items())
    found = preflight._report(seen().place, 0.0, text)
    assert preflight.problems(found, NEEDS) == ["apptainer exec: FATAL:   x", "no awk"]


def test_the_image_is_named_below_the_table():
    assert f"image: {SHA[:12]} in apptainer version 1.5.3 on datanode1" in preflight.notes([seen()])


def test_a_host_is_asked_outside_and_inside(testbed, tmp_path):
    (host,) = testbed.hosts
    found = preflight.look(host)
    assert not found.silent and not found.unfit
    assert (found.image, found.apptainer) == (SHA, "apptainer version 1.5.3")
    assert found.memory_gib > 0 and [folder.present for folder in found.folders] == [True, True]
    assert len(calls(tmp_path)) == 1
    (tmp_path / "bin" / "apptainer").write_text("#!/bin/sh\nexit 127\n")
    assert preflight.look(host).unfit == "no apptainer (a folder that holds it: `path`)"


def test_the_image_is_sent_to_hosts_that_lack_it(site, tmp_path, capfd):
    site = site | {"image": {"copy": str(tmp_path / "hadoop.sif")}}
    layout = Layout.of(site)
    testbed = RemoteTestbed(site, [Here(PLACE, layout)], layout, "x.yaml")
    target = tmp_path / "work" / f"image-{SHA[:12]}.sif"
    for _ in range(2):
        deployment.send_image(testbed)
        assert target.read_bytes() == CONTENT
    assert capfd.readouterr().err.count("MB to datanode1") == 1
    assert [path.name for path in (tmp_path / "work").iterdir()] == [target.name]
    assert preflight.look(testbed.hosts[0]).image == SHA


@pytest.mark.parametrize(
    ("cat", "said"),
    [
        ("echo 'cat: write error: No space left on device' >&2; exit 1", "cat: write error: No space left on device"),
        ("exec sleep 60", "took longer than 1 s"),
    ],
)
def test_why_an_image_was_not_copied_is_said(site, tmp_path, monkeypatch, cat, said):
    monkeypatch.setattr(deployment, "_COPY_S", 0.1)
    monkeypatch.setattr(deployment, "_LEAST_RATE", len(CONTENT))  # it may take a second
    (tmp_path / "bin" / "cat").write_text(f"#!/bin/sh\n{cat}\n")
    (tmp_path / "bin" / "cat").chmod(0o755)
    site = site | {"image": {"copy": str(tmp_path / "hadoop.sif")}}
    layout = Layout.of(site)
    testbed = RemoteTestbed(site, [Here(PLACE, layout)], layout, "x.yaml")
    (why,) = deployment.send_image(testbed)
    assert why == said
    assert not Path(testbed.image.file).exists()
    report = preflight._without_image(seen({"image": ""}), why)
    assert preflight.problems(report, NEEDS) == [f"image not copied: {said}"]
    assert preflight._without_image(seen(), why) == seen(), "the file is there"


def test_room_for_the_image_is_needed_where_it_is_not_yet():
    needs = replace(NEEDS, image_gib=1.25)
    tight = {"folders": "1048576 yes yes / /work\n99999999 yes yes sdb /data1"}
    assert preflight.problems(seen(**tight), needs) == []
    assert "1.0 GiB free in /work, 1.75 needed" in preflight.problems(seen({"image": ""}, **tight), needs)


def test_an_image_that_is_cut_off_on_its_way_is_not_taken(tmp_path):
    done = subprocess.run(shell.script(shell.RECEIVE, str(tmp_path / "w" / "i.sif"), "10"), input=b"half",
                          capture_output=True)  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (1, [b"@@ready", b"send"])
    assert list((tmp_path / "w").iterdir()) == []


@pytest.mark.parametrize("name", ["USR1", "USR2", "TERM", "HUP", "INT", "ALRM", "XCPU"])
def test_a_job_that_ends_while_an_image_is_copied_leaves_no_part_of_it(tmp_path, name):
    # A shell cannot trap what was ignored when it began, as SIGHUP is below nohup.
    argv = ["env", f"--default-signal={name}", *shell.script(shell.RECEIVE, str(tmp_path / "w" / "i.sif"), "10")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as popen:
        popen.stdin.write(b"half")
        popen.stdin.flush()
        for _ in range(100):
            if any(path.stat().st_size == 4 for path in tmp_path.glob("w/*")):
                break
            time.sleep(0.05)
        os.killpg(popen.pid, signal.Signals[f"SIG{name}"])
        assert popen.wait(timeout=10) != 0
    assert list((tmp_path / "w").iterdir()) == []


def test_what_a_host_is_has_the_images_digest(host, testbed):
    about = testbed._about(host)
    assert about["image"] == f"{SHA}  {host.image.file}"
    assert about["apptainer"] == "apptainer version 1.5.3"
    assert about["kernel"] and "java" in about
