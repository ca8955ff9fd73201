"""A job that brings its mapper in a jar of its own, as programs of HiBench, Mahout and Hive do."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from whitewire.cluster import yarn
from whitewire.cluster.hadoop import whereabouts
from whitewire.cluster.stack import Stack
from whitewire.testbed.emulated import software

SOURCE = Path(__file__).parents[1] / "data" / "own-job" / "OwnJob.java"
RUN = "org.apache.hadoop.util.RunJar"


def run(stack: Stack, source: str, target: str) -> str:
    """Copy `source` to `target` by such a job; the job's number."""
    with tempfile.TemporaryDirectory(dir=software.CACHE, prefix="own-job-") as folder:  # which hosts see
        argv = ["javac", "-proc:none", "-cp", f"{software.HADOOP}/*", "-d", f"{folder}/classes", str(SOURCE)]
        subprocess.run(argv, check=True, capture_output=True)
        jar = f"{folder}/own.jar"
        subprocess.run(["jar", "--create", "--file", jar, "-C", f"{folder}/classes", "."], check=True)
        arguments = [jar, "OwnJob", f"-Dfs.defaultFS={yarn.VIEW}", source, target]
        client = stack.testbed.by_role("client")[0]
        argv = stack.hdfs.installation.argv(RUN, 384, whereabouts(client), arguments)
        return yarn.job_ids(client.run(argv, timeout=180).check().stdout.decode())[0]
