"""Connections that open, that are refused and that say why, with sh in place of ssh and srun."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from whitewire.testbed.site import opening, shell
from whitewire.testbed.site.reason import cause, closing, reason

CARRIERS = Path(__file__).parents[2] / "data" / "cases" / "carriers"
REASONS = {
    # as the cases of tests/data/cases/carriers are named; those of public reports with their source
    "config-option": "/home/me/.ssh/config: line 8: Bad configuration option: usekeychain",  # mobile-shell/mosh#1305
    "key-permissions": 'Load key "/home/me/.ssh/id_ed25519": bad permissions; '  # microsoft/vscode-remote-release#2111
    "me@node01: Permission denied (publickey).",
    "jump-host-key": "Host key verification failed: of a jump host: log in to it once by hand",
    "jump-host-key-strict": "No ED25519 host key is known for bastion and you have requested strict checking: "
    "log in to it once by hand",
    "jump-host-login": "me@bastion: Permission denied (publickey).",
    "jump-host-down": "ssh: connect to host bastion port 22: Connection refused",
    "jump-host-forwarding": "channel 0: open failed: administratively prohibited: open failed: "
    "a jump host does not forward (AllowTcpForwarding)",
    "pam-slurm-adopt": "Access denied by pam_slurm_adopt: you have no active jobs on this node",  # vsoch/forward#29
    # asbru-cm/asbru-cm#138
    "ssh-account-expired": "Your account has expired; please contact your system administrator",
    # elpy1/ssh-over-ssm#14
    "ssh-agent-keys": "Received disconnect from UNKNOWN port 65535:2: Too many authentication failures",
    "ssh-banner-exchange": "Connection timed out during banner exchange",  # ansible/ansible#85862
    "ssh-booting": '"System is booting up. Unprivileged users are not permitted to log in yet. Please come back later. '
    'For technical details, see pam_nologin(8)."',  # osism/testbed#2470
    "ssh-config-owner": "Bad owner or permissions on /home/me/.ssh/config",  # vieux/docker-volume-sshfs#61
    "ssh-control-path": 'unix_listener: path "/tmp/whitewire-x/datanode1.1.f7IbxcOE2AKZBgW6" '
    "too long for Unix domain socket",  # cockpit-project/bots#6806
    "ssh-key-exchange-warning": "",  # ComputeCanada/puppet-magic_castle#554, appleboy/scp-action#37
    "ssh-libcrypto": "ssh_dispatch_run_fatal: Connection to 10.99.0.2 port 22: error in libcrypto",  # ansible/awx#15840
    "ssh-old-host-key": "Unable to negotiate with UNKNOWN port 65535: no matching host key type found. "
    "Their offer: ssh-rsa,ssh-dss",  # abdoxfox/HTTP-CUSTOM-HEADERS-VPN#53
    "ssh-password-expired": "WARNING: Your password has expired.",  # SolidCharity/LightBuildServer#84
    "ssh-penalty": "kex_exchange_identification: read: Connection reset by peer",  # ansible/ansible#86325
    "srun-overlap": "srun: unrecognized option '--overlap': Slurm 20.11 or newer is needed",  # OpenRLHF/OpenRLHF#1071
    # llnl/smith#688
    "step-busy": "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)",
    "srun-controller": "srun: error: Unable to confirm allocation for job 60564: "
    "Unable to contact slurm controller (connect failure)",  # ArjunaCluster/ArjunaUsers#100
    "srun-layout": "srun: error: JobId=125452 failed to distribute tasks (bind_type:threads,mask_cpu,one_thread) - "
    "this should never happen; srun: error: Task launch for StepId=125452.4 failed on node node01: "
    "Unable to layout tasks on given cpus",  # snakemake/snakemake-executor-plugin-slurm#225
    # eth-cscs/DLA-Future#337
    "srun-memory": "srun: error: Unable to create step for job 29986033: Memory required by task is not available",
    "srun-memory-variables": "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually "
    "exclusive.",  # snakemake/snakemake-executor-plugin-slurm#75
    # mknoxnv/ubuntu-slurm#4
    "srun-prolog-failed": "srun: error: Task launch for 23.0 failed on node node01: Job prolog failed",
    "srun-time-limit": "slurmstepd: error: *** STEP 32233190.0 ON node01 CANCELLED AT 2020-07-03T02:59:56 "
    "DUE TO TIME LIMIT ***",  # desihub/desitarget#628
}
UNEXPLAINED = ("ssh-key-exchange-warning", "ssh-penalty", "step-busy")
"""Cases of which no line is a known cause."""
BANNERS = [
    "Authorized use only.\nAccess is prohibited.",
    "idle sessions are timed out after 15 minutes.",
    "Connections that do nothing are timed out.",
    "Connection to this system is closed to guests.",
    "Access denied to whoever has no project.",
    "If your account has expired, or your password has expired, write to help@example.org.",
    "`Permission denied (publickey)` means that your key is not registered.",
    "The host key for node01 has changed with the new system.",
    "A host key is known for each login node: see https://example.org/keys",
    # what start files print
    "/home/me/.bashrc: line 5: [: too many arguments",
    "/home/me/.bashrc: line 7: [: missing `]'",
    "ln: failed to create symbolic link '/home/me/scratch': File exists",
    "mkdir: cannot create directory '/home/me/.cache': File exists",
]
"""Lines of banners and start files with words that ssh uses as well."""
SAID_BY_SSH = [
    "Connection timed out during banner exchange",
    "ssh: connect to host node01 port 22: Connection timed out",
    "kex_exchange_identification: read: Operation timed out",
    "channel 0: open failed: connect failed: Connection timed out",
    "nc: connect to 10.99.0.2 port 22 (tcp) failed: Connection timed out",
    '/home/me/.ssh/config line 20: garbage at end of line; "x".',
    "/home/me/.ssh/config line 3: Missing argument.",
    "Host key for [10.99.0.2]:2222 has changed and you have requested strict checking.",
    "me@node01: Permission denied (publickey,gssapi-keyex,gssapi-with-mic).",
    "Access denied: user me (uid=1000) has no active jobs on this node.",
    "mkdir: cannot create directory '/scratch/whitewire-0123456789ab': File exists",
]


@pytest.mark.parametrize("case", sorted(path.stem for path in CARRIERS.iterdir()))
def test_the_line_that_says_why_is_shown(case):
    said = (CARRIERS / f"{case}.txt").read_bytes()
    assert reason(said) == REASONS[case]
    assert cause(said) == ("" if case in UNEXPLAINED else REASONS[case])


@pytest.mark.parametrize("banner", BANNERS)
def test_a_banner_is_no_cause(banner):
    assert cause(banner) == closing(banner) == ""


@pytest.mark.parametrize("case", sorted(path.stem for path in CARRIERS.iterdir()))
def test_a_banner_hides_no_cause(case):
    said = "\r\n".join([*BANNERS, "", *(CARRIERS / f"{case}.txt").read_text().splitlines()])
    assert cause(said) == ("" if case in UNEXPLAINED else REASONS[case])


@pytest.mark.parametrize("line", SAID_BY_SSH)
def test_words_of_ssh_that_are_a_cause(line):
    assert cause(f"Authorized use only.\n{line}\nConnection closed by 10.99.0.2 port 22").startswith(line.rstrip("."))


def test_a_connection_that_only_closed_says_so():
    assert closing((CARRIERS / "ssh-penalty.txt").read_text()) == (
        "kex_exchange_identification: read: Connection reset by peer"
    )
    assert reason("Authorized use only.\nConnection closed by 10.99.0.2 port 22") == (
        "Connection closed by 10.99.0.2 port 22: Authorized use only."
    )
    assert closing("srun: error: x") == cause("Authorized use only.") == reason("") == ""


def opened(script: str, seconds: float = 10) -> subprocess.Popen:
    def start(**streams):
        return subprocess.Popen(["sh", "-c", script], start_new_session=True, bufsize=0, **streams)

    with tempfile.TemporaryFile() as errors:
        popen = opening.opened(start, errors, seconds)
    opening.end_here(popen)
    popen.stdin.close()
    popen.stdout.close()
    return popen


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(opening, "PAUSES_S", (0.01, 0.01, 0.01))


@pytest.mark.parametrize(
    "words", ["echo Welcome to the cluster", "echo; echo", "printf 'no line end'", "seq 2000", "printf 'ready\\r\\n'"]
)
def test_what_start_files_and_prologs_print_is_passed_over(words):
    opened(f"{words}; {shell.CLOCK}")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("true", "^the connection was closed before the host answered, 4 times: .*MaxStartups"),
        (
            "echo kex_exchange_identification: Connection closed by remote host >&2",
            "^kex_exchange_identification: Connection closed by remote host, 4 times: .*MaxStartups",
        ),
        (
            "echo Welcome; printf 'Authorized use only.\\n\\nkex_exchange_identification: "
            "Connection closed by remote host\\n' >&2",
            "^kex_exchange_identification: Connection closed by remote host: Authorized use only., 4 times: .*MaxStart",
        ),
        (
            "echo Welcome; echo Connection reset by 10.99.0.2 port 22 >&2",
            "^Connection reset by 10.99.0.2 port 22: Welcome, 4 times: .*MaxStartups",
        ),
        ("echo This account is currently not available.", "^This account is currently not available.$"),
        ("echo 'me@bastion: Permission denied (publickey).' >&2", r"^me@bastion: Permission denied \(publickey\).$"),
        ("exec sleep 100", "^no answer in 1 s$"),
        (
            "echo 'srun: Job 7 step creation temporarily disabled' >&2; exec sleep 100",
            "^no answer in 1 s: srun: Job 7 ",
        ),
    ],
)
def test_a_host_that_is_not_ready_says_why(script, why, impatient):
    with pytest.raises(opening.NotReady, match=why):
        opened(script, 1)


def test_only_what_nobody_explains_is_tried_again(impatient, tmp_path):
    third = f"echo x >> {tmp_path}/tried; [ $(wc -l < {tmp_path}/tried) -eq 3 ] || exit 255; {shell.CLOCK}"
    opened(third)
    (tmp_path / "tried").unlink()
    with pytest.raises(opening.NotReady):
        opened(f"echo 'Permission denied (publickey).' >&2; {third}")
    assert (tmp_path / "tried").read_text() == "x\n"


def test_few_connections_are_opened_at_once(tmp_path):
    counting = f"echo x > {tmp_path}/$$; ls {tmp_path} | wc -l >> {tmp_path}.most; sleep 0.2; rm {tmp_path}/$$"

    def open_one() -> None:
        opened(f"{counting}; {shell.CLOCK}")

    threads = [threading.Thread(target=open_one) for _ in range(3 * opening._AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = [int(line) for line in Path(f"{tmp_path}.most").read_text().split()]
    assert len(seen) == len(threads)
    assert 1 < max(seen) <= opening._AT_ONCE


def test_a_process_of_another_user_ends_with_its_input(monkeypatch):
    """oarsh runs as OAR's user: the kernel refuses every signal of ours."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", refuse)
    reads, waits = (
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        for argv in (["cat"], ["sleep", "60"])
    )
    opening.end_here(reads)
    monkeypatch.setattr(opening, "ALONE_S", 0.2)
    opening.end_here(waits)
    assert (reads.poll(), waits.poll()) == (0, None)
    waits.kill()
    waits.wait()
