"""From what hosts say of themselves to a testbed's file: valid as it is, with `look:` where only its user knows."""

import json
from dataclasses import replace

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whitewire.description.testbed import read_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.testbed.site import proposal, shell
from whitewire.testbed.site.facts import parse_facts
from whitewire.testbed.site.listing.base import Listed, role_of
from whitewire.testbed.site.proposal import Site
from whitewire.testbed.site.shell import SITE_QUESTIONS
from whitewire.workflow import new_site


def interface(name, address, bits=24, flags=("BROADCAST", "MULTICAST", "UP", "LOWER_UP"), **more):
    """An entry of `ip -json address show` (iproute2 6.1)."""
    return {
        "ifindex": 2, "ifname": name, "flags": list(flags), "mtu": 1500, "qdisc": "mq", "operstate": "UP",
        "group": "default", "txqlen": 1000, "link_type": "ether", "address": "14:58:d0:58:cf:c3",
        "broadcast": "ff:ff:ff:ff:ff:ff",
        "addr_info": [
            {"family": "inet", "local": address, "prefixlen": bits, "scope": "global", "label": name,
             "valid_life_time": 4294967295, "preferred_life_time": 4294967295},
            {"family": "inet6", "local": "fe80::1658:d0ff:fe58:cfc3", "prefixlen": 64, "scope": "link"},
        ], **more,
    }  # fmt: skip


LOOPBACK = interface("lo", "127.0.0.1", 8, ("LOOPBACK", "UP", "LOWER_UP"), link_type="loopback")
DOCKER = interface("docker0", "172.17.0.1", 16)


def said(number, **parts):
    """The answers of host `number` of a laboratory to shell.SITE_QUESTIONS."""
    answers = {
        "addresses": json.dumps([
            LOOPBACK, interface("eno1", f"10.1.0.{number}", 16), DOCKER,
            interface("ens1f0", f"10.10.0.{number}", mtu=9000),
            interface("ens1f1", "10.11.0.1", flags=("BROADCAST", "MULTICAST", "UP")),
        ]),
        "speeds": "docker0 -1\neno1 1000\nens1f0 10000\nlo 4294967295",
        "drivers": "eno1 igb\nens1f0 mlx5_core",
        "default": "default via 10.1.255.254 dev eno1 proto dhcp src 10.1.0.1 metric 100",
        "rdma": "mlx5_0",
        "memory": "MemTotal:       131869216 kB",
        "processors": "32",
        "machine": "Dell Inc.\nPowerEdge R640",
        "virtual": "",
        "disks": "nvme0n1 1875385008 0 [none] mq-deadline\nsda 7814037168 1 [mq-deadline] none",
        "folders": "1701209960 /dev/sda1 sda /data1\n880000000 /dev/nvme0n1p1 nvme0n1 /data2\n"
                   "880000000 /dev/nvme0n1p1 nvme0n1 /srv/x\n5000000 /dev/sdb1 sdb /boot/efi\n90000000 /dev/sdb2 sdb /",
        "fallback": "90000000",
        "java": 'openjdk version "17.0.13" 2024-10-15\nOpenJDK Runtime Environment (build 17.0.13+11-Debian-2deb12u1)',
        "apptainer": "apptainer version 1.3.4",
        "missing": "",
        **parts,
    }  # fmt: skip
    return "\n".join(f"{shell.SECTION}{name}\n{answers[name]}\n" for name in SITE_QUESTIONS)


def lab(count=5, listed=Listed, **parts):
    names = [f"node{number:02d}" for number in range(1, count + 1)]
    return Site(
        [listed(name, f"line {number}") for number, name in enumerate(names, start=1)],
        {name: parse_facts(0.0, said(number, **parts)) for number, name in enumerate(names, start=1)},
    )


def changed(site, name, number, **parts):
    return Site(site.hosts, {**site.facts, name: parse_facts(0.0, said(number, **parts))})


@pytest.fixture
def made(tmp_path):
    """(data, lines with `look:`) of the file that is proposed for a site, read as any testbed's file is."""

    def make(site, kind="ssh", ssh_config=""):
        text = proposal.proposal(kind, site, "hosts.txt (hosts)", new_site._kept(kind), ssh_config)
        path = tmp_path / "lab.yaml"
        path.write_text(text)
        return read_testbed(path), [line.strip() for line in text.splitlines() if "look: " in line]

    return make


def test_a_laboratory(made):
    config, look = made(lab())
    assert config["fabrics"] == {
        "10gbe": {"rate_mbit_per_s": 10000, "interface": "ens1f0"},
        "1gbe": {"rate_mbit_per_s": 1000, "interface": "eno1"},
    }
    assert config["hosts"] == [
        {"ssh": "node01", "role": "namenode"}, *({"ssh": f"node0{n}", "role": "datanode"} for n in (2, 3, 4)),
        {"ssh": "node05", "role": "client"},
    ]  # fmt: skip
    assert (config["work"], config["data"]) == ("/var/tmp/whitewire", ["/data1", "/data2"])
    assert (config["memory"], config["disk"]) == ({"minimum_gib": 125}, {"minimum_gib": 100})
    assert config["yarn"] == {"node_mib": 93 * 1024, "am_mib": 1536, "task_mib": 2048, "heap_mib": 1536}
    assert config["limits"]["cpu_idle_floor"] == 0.05 and config["probes"]["seconds"] == 5
    assert config["data_fraction"] == {"smoke": 0.01, "quick": 0.1}
    assert look == []


def test_what_a_line_rests_on_is_beside_it():
    text = proposal.proposal("ssh", lab(), "hosts.txt (hosts)", new_site._kept("ssh"))
    assert "# 5 hosts of hosts.txt (hosts), as they describe themselves; made by `whitewire site`." in text
    assert "# Machines: 5 x Dell Inc. PowerEdge R640\n" in text
    assert "interface: ens1f0} # 10.10.0.0/24; mlx5_core; MTU 9000\n" in text
    assert "  # RDMA devices on all hosts: mlx5_0; `make testbed` measures them\n" in text
    assert "  # Hadoop's own traffic over them: `transports` (docs/sites/transports.md)\n" in text
    assert "# Drives of the hosts: nvme0n1 894 GiB flash, sda 3726 GiB rotating\n" in text
    image = "# image: {path: /shared/hadoop.sif} # apptainer version 1.3.4 on all hosts: all can run in an image; "
    assert f"\n{image}docs/sites/containers.md\n" in text
    assert "  - {ssh: node05, role: client} # 32 processors, 126 GiB, Java 17\n" in text


def test_a_card_in_another_slot_and_a_slow_link(made):
    other = json.dumps([interface("eno1", "10.1.0.4", 16), interface("ens2f1", "10.10.0.4", mtu=1500)])
    site = changed(lab(), "node04", 4, addresses=other, speeds="eno1 100\nens2f1 10000")
    config, look = made(site)
    assert config["hosts"][3] == {"ssh": "node04", "role": "datanode", "fabrics": {"10gbe": {"interface": "ens2f1"}}}
    assert config["fabrics"]["0.1gbe"] == {"rate_mbit_per_s": 100, "interface": "eno1"}
    first, second = look
    assert first.endswith("MTU 1500 and 9000: look: they differ")
    assert second.endswith("look: faster on node01, node02, node03, node05")


def test_nodes_of_slurm_have_one_name_for_an_interface(made):
    other = json.dumps([interface("eno1", "10.1.0.4", 16), interface("ens2f1", "10.10.0.4", mtu=9000)])
    config, look = made(changed(lab(), "node04", 4, addresses=other, speeds="eno1 1000\nens2f1 10000"), "slurm")
    assert config["kind"] == "slurm" and "hosts" not in config
    (line,) = look
    assert line.endswith("look: another interface on node04, expected the same on all nodes")


def test_data_folders_on_one_drive(made):
    """Two partitions, or two volumes of one group: st_dev differs, the drive does not."""
    folders = "900000000 /dev/sda1 sda /data1\n900000000 /dev/mapper/vg-data2 sda /data2"
    config, (line,) = made(changed(lab(), "node04", 4, folders=folders))
    assert config["data"] == ["/data1", "/data2"]
    assert "look: some are on one drive on node04; keep one of each drive" in line


def test_virtual_machines_of_a_cloud(made):
    """Addresses have no network of their own, and drivers no speed."""
    parts = {
        "speeds": "ens4 -1", "drivers": "ens4 virtio_net", "default": "default via 10.128.0.1 dev ens4", "rdma": "",
        "virtual": "hypervisor", "machine": "Google\nGoogle Compute Engine", "memory": "MemTotal: 4025284 kB",
        "folders": "30000000 /dev/sda1 sda /", "fallback": "30000000", "java": "sh: 1: java: not found",
        "apptainer": "", "missing": "iperf3\nfio\ncurl",
    }  # fmt: skip
    site = lab(3)
    for number, name in enumerate(site.facts, start=1):
        nics = [LOOPBACK, interface("ens4", f"10.128.0.{number}", 32, mtu=1460)]
        site = changed(site, name, number, **parts, addresses=json.dumps(nics))
    config, look = made(site)
    assert config["fabrics"] == {"10gbe": {"rate_mbit_per_s": 10000, "interface": "ens4"}}
    assert config["data"] == ["/var/tmp"] and "yarn" not in config
    assert config["disk"] == {"minimum_gib": 14} and config["memory"] == {"minimum_gib": 3}
    assert [host["role"] for host in config["hosts"]] == ["namenode", "datanode", "client"]
    for line, part in zip(look, (
        "virtual machines: all hosts", "the driver reports no speed, this rate is a guess",
        "found no drive for data that is mounted alike on all hosts", "none of 17 or newer on all hosts",
        "curl (needed on a namenode) is missing on all hosts; fio (needed on a datanode) is missing",
    ), strict=True):  # fmt: skip
        assert part in line, line


@pytest.mark.parametrize("named", [False, True])
def test_the_fastest_interface_of_a_network_unless_the_list_names_another(made, named):
    """`ip` lists the slow one first."""
    site = lab(3)
    for number, name in enumerate(site.facts, start=1):
        nics = [interface("eno1", f"10.1.0.{number}", 16), interface("ens1f0", f"10.1.1.{number}", 16)]
        site = changed(site, name, number, addresses=json.dumps(nics), speeds="eno1 1000\nens1f0 25000")
    if named:
        hosts = [replace(host, addresses=(f"10.1.0.{number}",)) for number, host in enumerate(site.hosts, start=1)]
        site = Site(hosts, site.facts)
    config, (line,) = made(site)
    taken, other = ("eno1", "ens1f0 (25000 Mbit/s)") if named else ("ens1f0", "eno1 (1000 Mbit/s)")
    assert [fabric["interface"] for fabric in config["fabrics"].values()] == [taken]
    assert line.endswith(f"look: {other} in the same network")


def test_an_experiments_networks_go_before_the_control_network(made):
    """As a manifest lists them; two networks are as fast."""
    site = lab(speeds="eno1 10000\nens1f0 10000")
    listed = [replace(host, addresses=(f"10.10.0.{number}",)) for number, host in enumerate(site.hosts, start=1)]
    config, look = made(Site(listed, site.facts))
    assert config["fabrics"] == {"10gbe": {"rate_mbit_per_s": 10000, "interface": "ens1f0"}} and not look
    config, look = made(site)
    assert config["fabrics"] == {"10gbe": {"rate_mbit_per_s": 10000, "interface": "ens1f0"}}
    assert look == ["# look: 10.1.0.0/16 (eno1) is as fast as 10gbe above"]


def test_a_network_that_some_hosts_lack(made):
    only = json.dumps([interface("eno1", "10.1.0.4", 16)])
    config, look = made(changed(lab(), "node04", 4, addresses=only))
    assert set(config["fabrics"]) == {"1gbe"}
    assert look == ["# look: 10.10.0.0/24 is on node01, node02, node03, node05 only"]


def test_infiniband(made):
    site = lab(3)
    for number, name in enumerate(site.facts, start=1):
        nics = [interface("eno1", f"10.1.0.{number}", 16), interface("ib0", f"10.2.0.{number}", link_type="infiniband")]
        site = changed(site, name, number, addresses=json.dumps(nics), speeds="eno1 1000\nib0 40000")
    assert made(site)[0]["fabrics"] == {
        "40g-ipoib": {"rate_mbit_per_s": 40000, "interface": "ib0"},
        "1gbe": {"rate_mbit_per_s": 1000, "interface": "eno1"},
    }


@pytest.mark.parametrize("count, clients", [(3, 1), (7, 1), (14, 1), (15, 3), (20, 3)])
def test_roles(count, clients):
    found = proposal.roles([Listed(f"n{n}", "") for n in range(count)])
    assert found == ["namenode", *["datanode"] * (count - 1 - clients), *["client"] * clients]


def test_the_page_says_how_many_hosts_are_clients():
    page = (HOME / "docs" / "sites" / "first-day.md").read_text()
    assert f"from {proposal.MANY} hosts on the last {proposal._CLIENTS} are clients" in page


def test_roles_that_the_list_says_stay():
    roles = ["client", "", "namenode", "", "datanode"]
    hosts = [Listed(f"n{n}", "", role) for n, role in enumerate(roles)]
    assert proposal.roles(hosts) == ["client", "datanode", "namenode", "datanode", "datanode"]


@pytest.mark.parametrize("names", [
    [f"client0{n}" for n in range(5)], ["master", *(f"datanode0{n}" for n in range(4))],
    ["namenode", *(f"client0{n}" for n in range(4))], ["datanode1", "namenode", "d", "datanode2", "datanode3"],
])  # fmt: skip
def test_names_that_leave_a_role_out_are_no_roles(names):
    hosts = [Listed(name, "", role_of(name)) for name in names]
    assert proposal.roles(hosts) == ["namenode", "datanode", "datanode", "datanode", "client"]


def test_too_few_hosts_and_one_machine_under_two_names(made):
    with pytest.raises(UserError, match="^hosts: found 2, expected 3 or more: a NameNode, a DataNode and a client$"):
        made(lab(2))
    with pytest.raises(
        UserError, match="^hosts: found node02 and node03 with the same addresses, expected another machi"
    ):
        made(changed(lab(), "node03", 2))


def test_no_common_network(made):
    site = lab(3, default="")
    for number, name in enumerate(site.facts, start=1):
        site = changed(site, name, number, default="", addresses=json.dumps([interface("eno1", f"10.{number}.0.1")]))
    with pytest.raises(UserError, match="^networks: found none that all hosts have an IPv4 address on, expected one$"):
        made(site)


def test_the_users_ssh_configuration_is_named(made):
    assert made(lab(), ssh_config='/home/a "b"/#é: x')[0]["ssh_config"] == '/home/a "b"/#é: x'


@pytest.mark.parametrize("parts", [
    {"addresses": "Object \"-json\" is unknown"}, {"addresses": "[1]"}, {"addresses": '[{"ifname": 7, "flags": [[]]}]'},
    {"addresses": '[{"ifname": "a", "flags": ["UP", "LOWER_UP"], "addr_info": [{"family": "inet", "local": "x"}]}]'},
])  # fmt: skip
def test_answers_that_cannot_be_read(parts):
    with pytest.raises(ValueError, match="iproute2 4.14 or newer is needed"):
        parse_facts(0.0, said(1, **parts))


def test_memory_is_what_the_job_may_use(made):
    limited = changed(lab(), "node04", 4, memory="MemTotal:       131869216 kB\nmax\n34359738368")
    config, (line,) = made(limited)
    assert config["memory"] == {"minimum_gib": 32}
    assert "of each host; look: node04 may use only a part of it (Slurm: --mem=0)" in line


def test_answers_that_are_cut_short():
    with pytest.raises(ValueError, match="^no answer about apptainer, missing$"):
        parse_facts(0.0, said(1).partition(f"{shell.SECTION}apptainer")[0])


HOSTILE = st.lists(st.sampled_from([
    "ens1f0 10000", "ens1f0 99999999999999999999", "a: b", "- x", "# look: y", "\x1b[31m", "\u2028kind: slurm",
    "\x85evil: 1", "'", '"', "{}", "kB", "MemTotal: 131869216 kB", "MemTotal: 999999999999999999 kB", "17", "max",
    "10 /dev/sda sda /x y", "99999999 /dev/sda sda /d'a\"t{a}#", "99999999 /dev/sda sda /d\u2028ata", "sda 100000000 1",
    'version "17.0.1"', " dev x#y",
]), max_size=4).map("\n".join)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from([name for name in SITE_QUESTIONS if name != "addresses"]), HOSTILE))
def test_nothing_that_a_host_says_is_more_than_a_value_or_a_comment(made, parts):
    """A file with the keys that it should have, or a line that says why there is none."""
    try:
        config, _ = made(lab(3, **parts))
    except UserError as error:
        assert "networks: " in str(error) or "lab.yaml: " in str(error)
        return
    assert config["kind"] == "ssh" and {"evil", "a"}.isdisjoint(config)
    assert [host["ssh"] for host in config["hosts"]] == ["node01", "node02", "node03"]


def test_an_interface_with_a_strange_name_is_quoted(made):
    site = lab(3)
    for number, name in enumerate(site.facts, start=1):
        strange = json.dumps([interface("#a:{b'", f"10.1.0.{number}", 16), interface("two words", "10.2.0.1")])
        site = changed(site, name, number, addresses=strange, speeds="")
    assert made(site)[0]["fabrics"] == {"10gbe": {"rate_mbit_per_s": 10000, "interface": "#a:{b'"}}


def test_the_file_is_plain_yaml():
    text = proposal.proposal("ssh", lab(), "x", new_site._kept("ssh"))
    assert list(yaml.safe_load(text)) == ["kind", "fabrics", "work", "data", "hosts", "memory", "disk", "yarn",
                                          "data_fraction", "limits", "probes"]  # fmt: skip
