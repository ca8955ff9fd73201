"""Lists of hosts in the forms in which sites and tools give them, and errors for what is none."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.errors import UserError
from whitewire.testbed.site.listing import read_listing
from whitewire.testbed.site.listing.base import Listed

LISTS = Path(__file__).resolve().parents[2] / "data" / "lists"


def read(name):
    return read_listing((LISTS / name).read_text(), name)


def listed(name):
    form, hosts = read(name)
    return form, [(host.ssh, host.role) for host in hosts]


def test_a_manifest_of_cloudlab():
    """Each member has a login; a data set has none. Addresses are those of the experiment's links."""
    form, hosts = read("cloudlab-manifest.xml")
    assert form == "cloudlab"
    assert hosts == [
        Listed("ms01.example.org", "node namenode", "namenode", ("10.10.1.1",)),
        Listed("ms02.example.org", "node node-1", "", ("10.10.1.2",)),
        Listed("ssh://alice@pc2.example.org:30010", "node client", "client", ("10.10.1.3",)),
    ]


def test_a_request_is_no_manifest():
    with pytest.raises(UserError) as error:
        read("cloudlab-request.xml")
    assert str(error.value) == (
        "cloudlab-request.xml: taken for a CloudLab manifest (RSpec, XML): found 2 nodes and no login, expected those "
        "of a manifest; a request has none: save the manifest when the nodes are ready"
    )


BOMB = '<!DOCTYPE rspec [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rspec><node client_id="&b;"/></rspec>'
FILE = '<!DOCTYPE rspec [<!ENTITY x SYSTEM "file:///etc/passwd">]><rspec><node client_id="&x;"/></rspec>'


@pytest.mark.parametrize("text", [BOMB, FILE, f'<?xml version="1.0"?>\n{FILE}'])
def test_entities_are_refused(text):
    with pytest.raises(UserError, match="found a DOCTYPE, expected a manifest, which has none"):
        read_listing(text, "manifest.xml")


def test_a_node_file_names_a_host_for_each_processor():
    assert listed("pbs-nodefile.txt") == ("hosts", [("node01", ""), ("node02", ""), ("node03", "")])


def test_a_name_with_its_domain_and_without_is_one_host():
    found = read_listing("node01\nnode02.lab.example.org:4\nnode01.lab.example.org\nnode02\n", "nodes")[1]
    assert [host.ssh for host in found] == ["node01", "node02.lab.example.org"]


def test_a_host_file():
    assert listed("hosts.txt") == ("hosts", [
        ("namenode.lab.example.org", "namenode"), ("alice@10.1.0.17", ""), ("node03", ""), ("node04", ""),
        ("fe80::aede:48ff:fe00:1122%eno1", ""), ("client", "client"),
    ])  # fmt: skip


@pytest.mark.parametrize("name, expected", [
    ("enoslib-static.yaml", [
        ("root@10.158.0.11", "namenode"), ("ssh://root@paravance-2.rennes.example.org:2222", ""),
        ("paravance-3.rennes.example.org", "client"),
    ]),
    ("enoslib-roles.yaml", [
        ("root@paravance-1.rennes.example.org", ""), ("root@paravance-2.rennes.example.org", "client"),
    ]),
])  # fmt: skip
def test_hosts_of_enoslib(name, expected):
    assert listed(name) == ("enoslib", expected)


def test_outputs_of_tofu_with_one_that_has_addresses():
    assert listed("tofu-outputs.json") == ("tofu", [
        ("198.51.100.7", "client"), ("198.51.100.5", "namenode"), ("198.51.100.6", ""),
    ])  # fmt: skip


def test_the_output_hosts_goes_before_others():
    form, hosts = read("tofu-hosts.json")
    assert form == "tofu"
    assert hosts == [
        Listed("ubuntu@198.51.100.5", "hosts[0]", "namenode", ("10.0.1.10",)),
        Listed("ubuntu@10.0.1.11", "hosts[1]", "", ("10.0.1.11",)),
        Listed("ubuntu@10.0.1.12", "hosts[2]", "client", ("10.0.1.12",)),
    ]


def test_one_output_by_itself():
    """`tofu output -json NAME`."""
    assert [host.ssh for host in read_listing('["10.0.0.1", "10.0.0.2"]', "x.json")[1]] == ["10.0.0.1", "10.0.0.2"]


ADDRESSES = '{"sensitive": false, "type": ["list", "string"], "value": ["10.0.0.1"]}'


@pytest.mark.parametrize("text, message", [
    ("", "found an empty file, expected one of a CloudLab manifest (RSpec, XML), `tofu output -json`, hosts of EnOSlib "
         "(YAML), a host file (a host in each line)"),
    ("# none yet\n", "found an empty file"),
    ("node01\nnode02 extra\nnode;reboot\n", 'taken for a host file (a host in each line): line 3: found "node;reboot", '
                                            "expected the name or the address of a host"),
    ("-oProxyCommand=x\n", 'line 1: found "-oProxyCommand=x", expected the name'),
    ("a b@c\n-x@node02\n", 'line 2: found the user "-x", expected a name'),
    ("[control]\nnode01 ansible_user=root\n", 'line 1: found "[control]", expected the name'),
    ("node01\nnode01.a.org\nnode01.b.org\n",
     "hosts: found node01 beside node01.a.org and node01.b.org, expected names that distinguish hosts"),
    ("<html><body/></html>", "found <html>, expected <rspec>, as a manifest begins"),
    ("<rspec><node>", "not valid XML: no element found: line 1, column 13"),
    ("<rspec><node client_id='a'><services><login hostname='$(id)'/></services></node></rspec>",
     'node a: found "$(id)", expected the name'),
    ("<rspec><node><services><login hostname='a' port='0'/></services></node></rspec>",
     'node: found the port "0", expected a number from 1 to 65535'),
    ("{", "taken for `tofu output -json`: not valid JSON: Expecting property name"),
    ("{}", "outputs with addresses: found none, expected one, or one named hosts"),
    (f'{{"a": {ADDRESSES}, "b": {ADDRESSES}}}', "outputs with addresses: found a, b, expected one, or "
                                                "one named hosts; of several: `tofu output -json NAME`"),
    ('["10.0.0.1", "10.0.0.1"]', "hosts[1]: found 10.0.0.1 of hosts[0] again, expected another host"),
    ('["10.0.0.1", 7]', "hosts[1]: found 7, expected the name"),
    ("resources: {machines: {}}", "hosts of EnOSlib (YAML): resources.machines: found a mapping, expected a list"),
    ("resources: {machines: [{roles: [a]}]}", "resources.machines[0].address: found null, expected the name"),
    ("resources:\n  machines: !!python/object:os.system [x]\n", "found the tag"),
    ("compute: [node01]", "compute[0]: found text, expected a host with its `address`"),
    ("compute: []\n", "found no host, expected some"),
])  # fmt: skip
def test_what_is_wrong_is_reported_in_one_line(text, message):
    with pytest.raises(UserError) as error:
        read_listing(text, "list.txt")
    assert str(error.value).startswith("list.txt: ") and message in str(error.value)
    assert "\n" not in str(error.value)


PLAIN = re.compile(r"[A-Za-z0-9_.:%@/\[\]-]+")
PIECES = st.sampled_from([
    "node01", "a@b", "<rspec>", "</rspec>", "<node client_id='x'>", "{", "}", "[", "]", '"', ":", ",", "resources",
    "machines", "- ", "\n", " ", "$(id)", "`x`", "'", ";", "\x00", "\u2028", "-o", "é",
])  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join)))
def test_any_text_gives_plain_names_or_one_line(text):
    """What a list names reaches ssh and a file: nothing in it is more than a name."""
    try:
        _, hosts = read_listing(text, "x")
    except UserError as error:
        assert str(error).startswith("x: ")
        return
    for host in hosts:
        assert PLAIN.fullmatch(host.ssh) and not host.ssh.startswith("-")
