"""Why a program of Hadoop failed, from what it printed."""

from pathlib import Path

import pytest

from whitewire.cluster.hadoop import CommandOutcome, hadoop_reason

CASES = Path(__file__).parents[2] / "data" / "cases" / "getconf"
FULL = (
    "put: File /data/client1/put1._COPYING_ could only be replicated to 0 nodes instead of minReplication (=1).  There "
    "are 0 datanode(s) running and no node(s) are excluded in this operation."
)
TRACE = """\
19/02/02 13:00:37 WARN hdfs.DataStreamer: DataStreamer Exception
org.apache.hadoop.ipc.RemoteException(java.io.IOException): File /a could only be replicated to 0 nodes
\tat org.apache.hadoop.hdfs.server.blockmanagement.BlockManager.chooseTarget4NewBlock(BlockManager.java:1814)
\tat org.apache.hadoop.ipc.RPC$Server.call(RPC.java:989)
"""
MEMORY = "Invalid resource request, requested memory < 0, or requested memory > max configured, requestedMemory=1536"
KIND = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
REFUSED = f"""\
java.io.IOException: {KIND}: {MEMORY}
\tat org.apache.hadoop.mapred.YARNRunner.submitJob(YARNRunner.java:306)
\tat org.apache.hadoop.mapreduce.Job.submit(Job.java:1303)
Caused by: org.apache.hadoop.ipc.RemoteException({KIND}): {MEMORY}
\tat org.apache.hadoop.ipc.Client.call(Client.java:1471)
\tat org.apache.hadoop.ipc.RemoteException.instantiateException(RemoteException.java:121)
\t... 13 more
"""
QUEUE = (
    "Failed to run job : Application application_1444364220514_0016 submitted by user hive to unknown queue: default"
)


USAGE = """\
2026-11-28 13:25:49,625 WARN fs.FileSystem: Failed to initialize filesystem hdfs://my-cluster/user/me/w
-mkdir: java.net.UnknownHostException: my-cluster
Usage: hadoop fs [generic options]
\t[-appendToFile [-n] <localsrc> ... <dst>]

Usage: hadoop fs [generic options] -mkdir [-p] <path> ...
"""
KERBEROS = """\
java.lang.IllegalArgumentException: Can't get Kerberos realm
\tat org.apache.hadoop.security.HadoopKerberosName.setConfiguration(HadoopKerberosName.java:71)
Caused by: java.lang.IllegalArgumentException: KrbException: Cannot locate default realm
\tat java.security.jgss/javax.security.auth.kerberos.KerberosPrincipal.<init>(KerberosPrincipal.java:174)
\tat org.apache.hadoop.security.HadoopKerberosName.setConfiguration(HadoopKerberosName.java:69)
\t... 6 more
"""


@pytest.mark.parametrize(
    ("case", "why"),
    [
        # greenplum-db/pxf#259
        (
            "include-without-fallback",
            "Fetch fail on include for 'mountTable.xml' with no fallback while loading 'core-site",
        ),
        # InsightDataScience/data-engineering-ecosystem#3
        (
            "property-not-closed",
            "Unexpected close tag </configuration>; expected </property>. at [row,col,system-id]: [6,",
        ),
        ("blank-before-prolog", 'Illegal processing instruction target ("xml"); xml (case insensitive) is reserved by'),
    ],
)
def test_a_configuration_that_java_cannot_read_is_reported_with_the_cause(case, why):
    """What GetConf of Hadoop 3.5 prints: its last line says `... 13 more`."""
    found = hadoop_reason((CASES / f"{case}.txt").read_bytes())
    assert why in found and "\n" not in found and len(found) <= 300


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (FULL, FULL),  # ruoyu-chen/hadoop-docker#10
        (f"{TRACE}{FULL}\n", FULL),  # newnius/Dockerfiles#2
        (
            TRACE,
            "org.apache.hadoop.ipc.RemoteException(java.io.IOException): File /a could only be replicated to 0 nodes",
        ),
        # microsoft/pai#1819, caioquirino/docker-cloudera-quickstart#18
        (
            REFUSED,
            "org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.yarn.exceptions.InvalidResourceRequestExcep",
        ),
        # cartershanklin/hive-testbench#19
        (
            f'Exception in thread "main" java.io.IOException: {QUEUE}\n\tat a.B.c(B.java:1)\n',
            f"java.io.IOException: {QUEUE}",
        ),
        # apache-spark-on-k8s/kubernetes-HDFS#54
        (
            "WARN ipc.Client: retrying\nmkdir: Operation category READ is not supported in state standby.\n",
            "mkdir: Operation category READ is not supported in state standby.",
        ),
        (
            "INFO mapreduce.Job: Job job_1_0001 failed with state FAILED due to: Task failed task_1_0001_m_000000\n"
            "INFO mapreduce.Job: Counters: 8\n\t\tFailed map tasks=4\n",
            "Job job_1_0001 failed with state FAILED due to: Task failed task_1_0001_m_000000",
        ),
        (USAGE, "-mkdir: java.net.UnknownHostException: my-cluster"),  # tony-framework/TonY#22
        (KERBEROS, "java.lang.IllegalArgumentException: KrbException: Cannot locate default realm"),
        ("", "no message"),
    ],
)
def test_a_command_that_failed_says_why(said, why):
    found = hadoop_reason(said)
    assert found.startswith(why) and "\n" not in found and len(found) <= 300
    with pytest.raises(RuntimeError, match="^fsck: status 1: ") as raised:
        CommandOutcome(0.0, 1.0, 1, said).check("fsck")
    assert str(raised.value).endswith(found)
