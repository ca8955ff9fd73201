"""What set-up makes once for every start: each kind of JVM finds its classes in the archive."""

from __future__ import annotations

import pytest

from whitewire.cluster import hdfs, yarn
from whitewire.description.testbed import load_testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

KINDS = (
    hdfs.NAMENODE,
    hdfs.DATANODE,
    hdfs.FS_SHELL,
    yarn.RESOURCE_MANAGER,
    yarn.NODE_MANAGER,
    yarn.HISTORY_SERVER,
    "org.apache.hadoop.mapreduce.v2.app.MRAppMaster",
    "org.apache.hadoop.mapred.YarnChild",
)
"""Main classes of daemons, client and containers. Without their classes in the archive they would only be slow."""


@pytest.fixture(scope="module")
def host(can_emulate):
    with EmulatedTestbed(load_testbed("emulated"), {"client": 1}, 100, software.binds()) as testbed:
        yield testbed.by_role("client")[0]


@pytest.mark.parametrize("main", KINDS, ids=lambda name: name.rpartition(".")[2])
def test_main_class_is_in_the_archive(host, main):
    java, *rest = software.installation().argv(main, 64, {})
    said = host.run([java, "-Xlog:class+load:stdout", "--dry-run", *rest]).check().stdout.decode()
    (line,) = (line for line in said.splitlines() if f" {main} source:" in line)
    assert "shared objects file" in line
