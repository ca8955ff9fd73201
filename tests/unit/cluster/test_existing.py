"""What clients of a site's cluster take from its configuration, and what they don't."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests.unit.cluster.test_history import INFO
from whitewire.cluster.existing import GET_CONF, LOGGING, Existing, around, whole
from whitewire.cluster.hadoop import CommandOutcome
from whitewire.cluster.yarn import VIEW
from whitewire.errors import UserError
from whitewire.testbed.base import CommandFailed, Completed
from whitewire.testbed.installation import Installation
from whitewire.tools import history, site_xml


class Here:
    """This machine as a client; of commands of Java it remembers the words."""

    name = "client1"

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.java = str(scratch), []
        self.settings = {"fs.defaultFS": "hdfs://namenode:9000"}

    def run(self, argv, env=None, stdin=None, timeout=None) -> Completed:
        if argv[0] == "java":
            self.java.append(argv)
            value = self.settings.get(argv[-1])
            missing = f"Configuration {argv[-1]} is missing.\n".encode()
            return (
                Completed(argv, 255, b"", missing) if value is None else Completed(argv, 0, value.encode() + b"\n", b"")
            )
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


def test_our_values_come_before_the_sites_and_are_final():
    """Hadoop keeps the first value that is declared final, and a site's may be."""
    first, second, included = ElementTree.fromstring(around("site-core-site.xml", {"a": "1 & 2", "fs.defaultFS": VIEW}))
    assert [[child.text for child in each] for each in (first, second)] == [
        ["a", "1 & 2", "true"],
        ["fs.defaultFS", VIEW, "true"],
    ]
    assert (included.tag, included.get("href")) == (site_xml.INCLUDE, "site-core-site.xml")


@pytest.mark.parametrize("found", ["hdfs://namenode:9000", "file:///"])
def test_nothing_begins_where_clients_do_not_see_the_runs_folder_as_their_root(host, site, found):
    host.settings["fs.defaultFS"] = found
    with pytest.raises(UserError, match=f"/site on client1: fs.defaultFS: found '{found}' .*, expected 'viewfs:"):
        site._check_view(host)
    assert f"{host.scratch}/conf" in host.java[0][-4]  # as clients read it, not as the site has it
    host.settings["fs.defaultFS"] = VIEW
    site._check_view(host)


@pytest.mark.parametrize("name", ["fs.defaultFS", "fs.default.name"])
def test_jobs_are_refused_where_the_sites_file_system_is_final(tmp_path, host, site, name):
    """As Ambari's clusters have it."""
    file = tmp_path / "site" / "core-site.xml"
    value = "<value>hdfs://nn:8020</value>"
    file.write_text(f"<configuration><property><name>{name}</name>{value}</property></configuration>")
    site._refuse_final(host)
    file.write_text(file.read_text().replace(value, f"{value}<final>true</final>"))
    with pytest.raises(UserError, match="/site/core-site.xml on client1: fs.defaultFS: found <final>true</final>"):
        site._refuse_final(host)
    file.write_text("<configuration>")
    with pytest.raises(UserError, match="/site on client1: core-site.xml: no element found"):
        site._refuse_final(host)


def test_paths_are_removed_by_their_whole_names(site):
    said = []
    site.clients = [SimpleNamespace(run=lambda tool, words: said.extend(words) or CommandOutcome(0, 0, 0, ""))]
    site.remove("/data")
    assert said[-1] == "viewfs://whitewire/data"


def test_the_folder_is_removed_though_clients_died_and_named_where_it_stays(host, site, capsys):
    def lost(argv, timeout):
        raise CommandFailed("client0: the connection is lost")

    def stopped() -> str:
        site.folder = "hdfs://namenode:9000/user/me/whitewire-1"
        site.clients = [SimpleNamespace(process=SimpleNamespace(kill=lambda: None))]
        site.stop()
        return capsys.readouterr().err

    site.testbed = SimpleNamespace(by_role=lambda role: [SimpleNamespace(run=lost), host])
    host.settings["hdfs://namenode:9000/user/me/whitewire-1"] = ""
    assert stopped() == ""
    assert host.java[0][-5:-1] == ["-rm", "-r", "-f", "-skipTrash"]
    host.settings.clear()
    assert "cluster: hdfs://namenode:9000/user/me/whitewire-1 stays: Configuration hdfs://namenode" in stopped()


def test_what_cannot_be_copied_of_the_sites_folder_is_left_out_unless_it_is_needed(tmp_path, host, site, monkeypatch):
    (tmp_path / "site" / "container-executor.cfg").symlink_to("/nowhere")  # as unreadable as a file of mode 0400
    (tmp_path / "site" / "hdfs-site.xml").write_text("<configuration/>")
    site._configure(host, {})
    own = tmp_path / "scratch" / "conf"
    assert not (own / "container-executor.cfg").exists()
    assert (own / "site-hdfs-site.xml").exists() and not (own / "site-yarn-site.xml").exists()

    def unreadable(argv):
        if argv[0] == "cp":
            return Completed(argv, 1, b"", b"cp: cannot open 'hdfs-site.xml' for reading: Permission denied\n")
        return Here.run(host, argv)

    monkeypatch.setattr(host, "run", unreadable)
    (own / "core-site.xml").write_text("<configuration/>")
    (own / "hdfs-site.xml").unlink()
    with pytest.raises(UserError, match="/site/hdfs-site.xml on client1: not copied: cp: cannot open .* denied"):
        site._configure(host, {})


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("hdfs://nameservice1", "hdfs://nameservice1"),
        # mozilla/jydoop#27: what a logger without a configuration says
        ("log4j:WARN Please initialize the log4j system properly.\nhdfs://nameservice1", "hdfs://nameservice1"),
        ("", ""),
        ("log4j:WARN Please initialize the log4j system properly.\n", ""),
    ],
)
def test_a_setting_is_the_last_line_though_it_be_empty(host, site, printed, value):
    host.settings["fs.defaultFS"] = printed
    assert site._configured(host, "fs.defaultFS") == value


def test_a_setting_that_is_missing_is_hadoops_own_or_named(host, site):
    assert site._configured(host, history.POLICY) == "HTTP_ONLY"
    with pytest.raises(UserError, match=r"/site on client1: dfs.x: Configuration dfs.x is missing\."):
        site._configured(host, "dfs.x")


def test_the_history_server_is_asked_by_the_address_and_the_scheme_that_it_has(host, site, serve):
    """Hadoop 3.5 with one of the two policies listens for http at the address of https, or the other way round."""
    server = serve(200, json.dumps(INFO))
    port = server.rpartition(":")[2]
    host.settings |= {history.WEB["http"]: f"0.0.0.0:{port}", history.RPC: "127.0.0.1:10020"}
    assert site._history_server(host) == server
    host.settings |= {history.POLICY: "HTTPS_ONLY", history.WEB["https"]: f"127.0.0.1:{port}"}
    assert site._history_server(host) == server


def test_a_history_server_that_asks_for_a_login_is_reported_with_the_setting(host, site, serve):
    server = serve(401, "", {"WWW-Authenticate": "Negotiate"})
    host.settings |= {history.WEB["http"]: server.removeprefix("http://")}
    said = f"{history.WEB['http']}: no answer of the history server, which jobs need: {server}: 401 Unauthorized"
    with pytest.raises(UserError, match=said):
        site._history_server(host)
    host.settings |= {history.WEB["http"]: "0.0.0.0:19888"}
    with pytest.raises(UserError, match=f"/site on client1: {history.WEB['http']}: found '0.0.0.0:19888' and"):
        site._history_server(host)


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("/tmp/hadoop-yarn/staging", "hdfs://nameservice1/tmp/hadoop-yarn/staging"),
        ("hdfs:///user", "hdfs://nameservice1/user"),  # Yelp/mrjob#1902, dmlc/dmlc-core#178
        ("hdfs://nameservice2/user", "hdfs://nameservice2/user"),
        ("gs://bucket/history", "gs://bucket/history"),
    ],
)
def test_places_of_jobs_have_a_file_system(place, found):
    assert whole(place, "hdfs://nameservice1") == found
