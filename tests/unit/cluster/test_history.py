"""A site's history server: where it is, and what it says when it is asked before any job."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from whitewire.cluster import history
from whitewire.cluster.history import fault_of_server
from whitewire.testbed.base import Completed
from whitewire.tools import Unreadable
from whitewire.tools import history as parser
from whitewire.tools.history import HISTORY_DEFAULTS, history_server
from whitewire.tools.site_xml import parse_site_xml

CASES = Path(__file__).parents[2] / "data" / "cases" / "history-server-address"
INFO = {"historyInfo": {"startedOn": 1353512830963, "hadoopVersion": "3.5.0"}}
WEB, RPC, POLICY = parser.WEB["http"], parser.RPC, parser.POLICY


def property_of(name: str, value: str) -> str:
    return f"<property><name>{name}</name><value>{value}</value></property>"


def found(text: str) -> tuple[str, str]:
    settings = HISTORY_DEFAULTS | (parse_site_xml(text, "mapred-site.xml") or {})
    return history_server(settings.__getitem__)


@pytest.mark.parametrize(
    "file, server",
    [
        ("mapred-site.xml", "history.example.org:19888"),  # linkedin/dr-elephant#196
        ("https.xml", "history.example.org:19890"),  # linkedin/dr-elephant#394
    ],
)
def test_the_address_of_a_site(file, server):
    assert found((CASES / file).read_text())[0] == server


@pytest.mark.parametrize(
    "settings, server",
    [
        ({WEB: "history.example.org:19888"}, "history.example.org:19888"),
        ({WEB: "http://history.example.org:19888/"}, "history.example.org:19888"),
        ({WEB: "[2001:db8::7]:19888"}, "[2001:db8::7]:19888"),
        ({WEB: "[::]:8888", RPC: "history.example.org:10020"}, "history.example.org:8888"),
        ({WEB: ":19888", RPC: "history.example.org:10020"}, "history.example.org:19888"),
        ({POLICY: "https_only", RPC: "history.example.org:10020"}, "history.example.org:19890"),
    ],
)
def test_addresses_that_sites_write(settings, server):
    assert (
        found(f"<configuration>{''.join(property_of(*each) for each in settings.items())}</configuration>")[0] == server
    )


@pytest.mark.parametrize(
    "settings, says",
    [
        ({}, f"{WEB}: found '0.0.0.0:19888' and {RPC} '0.0.0.0:10020', expected the history server's host in one"),
        # MetaCenterCloudPuppet/cesnet-hadoop#3: webapps for webapp
        ({"mapreduce.jobhistory.webapps.address": "history.example.org:19888"}, f"{WEB}: found '0.0.0.0:19888' and"),
        ({WEB: "history.example.org"}, f"{WEB}: found 'history.example.org', expected host:port, such as"),
        ({WEB: "${history.host}:19888"}, f"{WEB}: found '${{history.host}}:19888', expected host:port"),
        ({RPC: ""}, f"{RPC}: found '', expected host:port"),
    ],
)
def test_what_names_no_host_is_refused_by_the_names_of_the_settings(settings, says):
    text = f"<configuration>{''.join(property_of(*each) for each in settings.items())}</configuration>"
    with pytest.raises(Unreadable) as raised:
        found(text)
    assert str(raised.value).startswith(says)


class Here:
    """This machine as a client; `home` is the user's, with curl's options there."""

    def __init__(self, home: str = "") -> None:
        self.home = home

    def run(self, argv, env=None, stdin=None, timeout=None):
        own = os.environ | {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "HOME": self.home}
        done = subprocess.run(argv, capture_output=True, env=own)
        return Completed(argv, done.returncode, done.stdout, done.stderr)


def test_a_server_that_answers_has_no_fault_whatever_proxies_there_are(serve, tmp_path):
    (tmp_path / ".curlrc").write_text('proxy = "http://127.0.0.1:9"\nfail\nhead\n')  # apache/ambari#173
    assert fault_of_server(Here(str(tmp_path)), serve(200, json.dumps(INFO))) == ""


@pytest.mark.parametrize(
    "answer, says",
    [
        ((302, "", {"Location": "https://history.example.org:19890/ws"}), "302 Found, to https://history.example.org"),
        ((401, "<html>Authentication required</html>", {"WWW-Authenticate": "Negotiate"}), "401 Unauthorized: it asks"),
        ((403, "<html>"), "403 Forbidden"),
        ((404, "<html>"), "404 Not Found"),
        ((503, ""), "503 Service Unavailable"),
        ((200, "<!DOCTYPE html>\n<title>Knox</title>"), "found '<!DOCTYPE html> <title>Knox</title>', expected"),
        ((200, ""), "found 'nothing', expected the answer of a MapReduce history server"),
        ((200, '{"clusterInfo": {}}'), "found '{\"clusterInfo\": {}}', expected"),
    ],
)
def test_what_a_server_says_instead(serve, answer, says):
    assert fault_of_server(Here(), serve(*answer)).startswith(says)


def test_a_server_that_is_not_there():
    why = fault_of_server(Here(), "http://127.0.0.1:9")
    assert why.startswith("curl: (7) ") and "127.0.0.1" in why and "\n" not in why
    assert "curl: (6) " in fault_of_server(Here(), "http://history.invalid:19888")


def test_a_certificate_that_nobody_signed(serve, tmp_path):
    file = tmp_path / "own.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*make, "-keyout", file, "-out", tmp_path / "certificate"], check=True, capture_output=True)
    file.write_text(file.read_text() + (tmp_path / "certificate").read_text())
    assert "certificate" in fault_of_server(Here(), serve(200, json.dumps(INFO), certificate=file))


def test_a_job_that_is_not_listed_in_time_is_reported_with_the_answer(serve):
    with pytest.raises(TimeoutError, match=r"no answer about job_1_0001 in 1 s: 0 of 1 answers; curl: \(22\) .* 404"):
        history.reported_job(Here(), serve(404), "job_1_0001", 1, lambda: None)
