"""What clients of a site's cluster take from its configuration, and what they don't."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from whitewire.cluster.existing import GET_CONF, LOGGING, Existing
from whitewire.testbed.base import Completed
from whitewire.testbed.installation import Installation


class Here:
    """This machine as a client; of commands of Java it remembers the words."""

    name = "client1"

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.java = str(scratch), []

    def run(self, argv, env=None, stdin=None, timeout=None) -> Completed:
        if argv[0] == "java":
            self.java.append(argv)
            return Completed(argv, 0, b"hdfs://namenode:9000\n", b"")
        done = subprocess.run(argv, capture_output=True)
        return Completed(argv, done.returncode, done.stdout, done.stderr)

    def put(self, content: bytes, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)


@pytest.fixture
def host(tmp_path):
    return Here(tmp_path / "scratch")


@pytest.fixture
def site(tmp_path, host):
    """A cluster whose configuration is in the folder `site`."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "core-site.xml").write_text("<configuration/>")
    testbed = SimpleNamespace(by_role=lambda role: [host])
    return Existing(testbed, Installation(["/j.jar"], "/conf", None), str(tmp_path / "site"), "/user/me", tmp_path)


@pytest.mark.parametrize("said", [None, "log4j.rootLogger=WARN,console\n"], ids=["none", "WARN"])
def test_clients_log_as_ours_do_whatever_the_site_says(tmp_path, host, site, said):
    """A job's number is read in the client's log."""
    if said:
        for name in LOGGING:
            (tmp_path / "site" / name).write_text(said)
            (tmp_path / "site" / name).chmod(0o444)
    site._configure(host, {"fs.defaultFS": "viewfs://whitewire/"})
    for name, text in LOGGING.items():
        assert (tmp_path / "scratch" / "conf" / name).read_text() == text
    assert (tmp_path / "scratch" / "conf" / "site-core-site.xml").read_text() == "<configuration/>"


def test_questions_to_the_sites_configuration_log_as_ours_do(host, site):
    assert site._configured(host, "fs.defaultFS") == "hdfs://namenode:9000"
    ((*options, path, main, _, key),) = host.java
    assert (path, main, key) == (f"/j.jar:{site.site}", GET_CONF, "fs.defaultFS")
    given = dict(word.split("=", 1) for word in options if word.startswith("-D"))  # as for Java, the last one counts
    assert given["-Dlog4j.configuration"] == f"file:{host.scratch}/conf/log4j.properties"
    assert given["-Dlog4j.configurationFile"] == f"file:{host.scratch}/conf/log4j2.properties"
