"""What a client's JVM is handed: one command a line, its words parted by tabs."""

import io
from types import SimpleNamespace

import pytest

from whitewire.cluster.hadoop import Resident
from whitewire.errors import UserError


@pytest.fixture
def client(tmp_path):
    """A client whose JVM is a pipe that keeps what it is handed."""
    log = tmp_path / "log"
    log.write_text("@ready\n")
    pipe = SimpleNamespace(stdin=io.BytesIO())
    process = SimpleNamespace(popen=pipe, log=log, name="client JVM on client1", check=lambda: None)
    return Resident(SimpleNamespace(name="client1", address="", endpoint="", start=lambda *_, **__: process),
                    SimpleNamespace(argv=lambda *_, **__: [], environment=lambda _: {}), log)  # fmt: skip


def test_a_command_is_one_line(client):
    client.begin("FsShell", ["-put", "a file", "/data"])
    assert client.process.popen.stdin.getvalue() == b"FsShell\t-put\ta file\t/data\n"


@pytest.mark.parametrize("word", ["-Dx=y\nFsShell", "-Dx=y\tz", "-Dx=y\rFsShell"])
def test_a_word_never_begins_another_word_or_command(client, word):
    with pytest.raises(UserError, match=r"client JVM on client1: found \"-Dx=y.*expected a word without tabs"):
        client.begin("FsShell", [word, "-ls", "/"])
    assert not client.process.popen.stdin.getvalue()
