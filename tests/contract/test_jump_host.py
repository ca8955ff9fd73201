"""Hosts behind a jump host, by real sshd: one that limits new connections, and the words of one that refuses."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator

import pytest

from tests.conftest import SMALL
from tests.contract.test_site_ssh import within
from tests.support.site import USER, SshSite, installed
from whitewire.errors import UserError
from whitewire.testbed.base import piped
from whitewire.testbed.site import opening
from whitewire.testbed.site.opening import _AT_ONCE
from whitewire.testbed.site.ssh import SshTestbed

PORT, JUMP_PORT = 2222, 2200
ALIASES = 3
"""Names of each host in the inventory: 18 hosts look like many, on the links of six."""


def serve(site: SshSite, host, port: int, **more) -> subprocess.Popen:
    """sshd that listens on a host, with further lines of configuration."""
    lines = "".join(f"{key} {value}\n" for key, value in more.items()).encode()
    own = f"{site.folder}/{host.name}"
    site.write(f"{own}/listening", lines + site.testbed.inside(["cat", f"{own}/sshd_config"]).stdout, "644")
    argv = [installed("sshd"), "-D", "-p", str(port), "-f", f"{own}/listening", "-E", f"{own}/listening.log"]
    popen = subprocess.Popen(site.as_user(host, argv), stdin=subprocess.DEVNULL)
    listening = ["sh", "-c", f"ss -tln | grep -q :{port}"]
    assert within(10, lambda: host.run(listening).status == 0)
    return popen


def end(popen: subprocess.Popen) -> None:
    popen.kill()
    popen.wait()


def through(site: SshSite, host, port: int) -> str:
    """The local command that carries a connection to a port of a host, as nc does."""
    pipe = f"exec 3<>/dev/tcp/{host.address}/{port}; cat <&0 >&3 & cat <&3; kill $!"
    return shlex.join(site.as_user(host, ["bash", "-c", pipe]))


def configuration(site: SshSite, jump: str) -> str:
    """ssh's configuration: all hosts, by several names, behind a jump host (`jump`: how that is reached)."""
    blocks = [f"Host bastion\n{jump}  HostKeyAlias namenode\n"]
    for host in site.testbed.hosts:
        names = " ".join(f"{host.name}-{number}" for number in range(ALIASES))
        blocks.append(
            f"Host {names}\n  HostName {host.address}\n  Port {PORT}\n  HostKeyAlias {host.name}\n  ProxyJump bastion\n"
        )
    common = f"""Host *
  User {USER}
  IdentityFile {site.local}/id
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {site.local}/known_hosts
  GlobalKnownHostsFile /dev/null
"""
    return "\n".join([*blocks, common])


@pytest.fixture(scope="module")
def servers(ssh_site) -> Iterator[None]:
    started = [serve(ssh_site, host, PORT, MaxStartups="100") for host in ssh_site.testbed.hosts]
    yield
    for popen in started:
        end(popen)


@pytest.fixture
def behind(ssh_site, ssh_config, tmp_path, servers):
    """A description whose hosts are behind a jump host, given how that is reached."""

    def make(jump: str, aliases: int = ALIASES) -> dict:
        (tmp_path / "config").write_text(configuration(ssh_site, jump))
        hosts = [
            {"ssh": f"{host.name}-{number}", "role": host.role}
            for number in range(aliases)
            for host in ssh_site.testbed.hosts
        ]
        return ssh_config | {"ssh_config": str(tmp_path / "config"), "hosts": hosts}

    return make


@pytest.mark.parametrize(
    "limit", [f"{_AT_ONCE - 1}:100:{_AT_ONCE - 1}", pytest.param("3:60:6", marks=pytest.mark.slow)]
)
def test_a_jump_host_that_limits_new_connections(ssh_site: SshSite, behind, limit, capfd):
    jump = ssh_site.testbed.host("namenode")
    popen = serve(ssh_site, jump, JUMP_PORT, MaxStartups=limit)
    try:
        reached = f"  ProxyCommand {through(ssh_site, jump, JUMP_PORT)}\n"
        with pytest.raises(UserError, match=rf"{ALIASES * 6} of {ALIASES * 6} hosts cannot be used"):
            SshTestbed.whole(behind(reached)).preflight()
        table = capfd.readouterr().err  # all answer, each under several names
        assert table.count(": is a machine listed twice?") == table.count(" NO ") == ALIASES * 6
        with SshTestbed(behind(reached, aliases=1), SMALL) as testbed:
            assert testbed.on_all(lambda host: host.run(["true"]).status) == [0] * 6
    finally:
        end(popen)


def test_a_jump_host_that_takes_nobody_any_more(ssh_site: SshSite, behind, monkeypatch, capfd):
    monkeypatch.setattr(opening, "PAUSES_S", [0.1 for _ in opening.PAUSES_S])
    jump = ssh_site.testbed.host("namenode")
    popen = serve(ssh_site, jump, JUMP_PORT, MaxStartups="1:100:1")
    carrier = through(ssh_site, jump, JUMP_PORT)
    idle = subprocess.Popen(["sh", "-c", f"exec {carrier}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert piped(idle.stdout).readline().startswith(b"SSH-2.0")
        with pytest.raises(UserError, match=r"6 of 6 .*kex_exchange_identification: .*, 4 times: .*MaxStartups"):
            SshTestbed.whole(behind(f"  ProxyCommand {carrier}\n", aliases=1)).preflight()
    finally:
        piped(idle.stdin).close()
        end(idle)
        piped(idle.stdout).close()
        end(popen)


def refusing(site: SshSite, which: str) -> str:
    """How a jump host is reached that refuses: sshd as inetd starts it, which reads its configuration each time."""
    reached = f"  ProxyCommand {site.proxies['namenode']}\n"
    return {
        "unknown key": reached + "  HostKeyAlias unheard-of\n",
        "unknown key, strict": reached + "  HostKeyAlias unheard-of\n  StrictHostKeyChecking yes\n",
        "login": reached + "  PubkeyAuthentication no\n",
        "down": "  HostName 127.0.0.1\n  Port 1\n",
        "unresolved": "  HostName nowhere.invalid\n",
        "forwarding": reached,
    }[which]


@pytest.mark.parametrize(
    ("which", "why"),
    [
        ("unknown key", "Host key verification failed: of a jump host: log in to it once by hand"),
        ("unknown key, strict", "No ED25519 host key is known for unheard-of and you have requested strict checking"),
        ("login", r"researcher@\S+: Permission denied \(publickey\)"),
        ("down", "ssh: connect to host 127.0.0.1 port 1: Connection refused"),
        ("unresolved", "ssh: Could not resolve hostname nowhere.invalid"),
        ("forwarding", r"open failed: administratively prohibited: .*a jump host does not forward"),
    ],
)
def test_the_reason_is_the_jump_hosts(ssh_site: SshSite, behind, which, why, capfd):
    own = f"{ssh_site.folder}/namenode/sshd_config"
    before = ssh_site.testbed.inside(["cat", own]).stdout
    config = behind(refusing(ssh_site, which), aliases=1)
    try:
        if which == "forwarding":
            ssh_site.write(own, b"AllowTcpForwarding no\n" + before, "644")
        with pytest.raises(UserError, match=rf"6 of 6 hosts cannot be used: .*{why}"):
            SshTestbed.whole(config).preflight()
    finally:
        ssh_site.write(own, before, "644")


def test_why_pam_refuses_is_shown(ssh_site: SshSite, ssh_config, capfd):
    host = ssh_site.testbed.host("datanode3")
    words = "Access denied by pam_slurm_adopt: you have no active jobs on this node"
    own = f"{ssh_site.folder}/{host.name}/sshd_config"
    before = ssh_site.testbed.inside(["cat", own]).stdout
    stack = f"auth required pam_permit.so\naccount optional pam_echo.so {words}\naccount required pam_deny.so\n"
    ssh_site.hide(host, "/etc/pam.d/sshd", stack.encode())
    ssh_site.write(own, before.replace(b"UsePAM no", b"UsePAM yes"), "644")
    try:
        with pytest.raises(UserError, match=f"1 of 6 hosts cannot be used: datanode3 .*: {words}$"):
            SshTestbed(ssh_config, SMALL).preflight()
    finally:
        ssh_site.write(own, before, "644")
        ssh_site.as_root(host, "umount", "/etc/pam.d/sshd")
