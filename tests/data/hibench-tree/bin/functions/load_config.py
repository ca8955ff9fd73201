#!/usr/bin/env python3
"""Folder of configuration, a workload's own file, the script's folder: writes shell variables, prints their file."""

import itertools
import re
import sys
from pathlib import Path

NEEDED = {
    "JAVA_BIN": "java.bin",
    "HADOOP_EXECUTABLE": "hibench.hadoop.executable",
    "HADOOP_CONF_DIR": "hibench.hadoop.configure.dir",
    "HADOOP_EXAMPLES_JAR": "hibench.hadoop.examples.jar",
    "HADOOP_SLEEP_JAR": "hibench.sleep.job.jar",
    "HDFS_MASTER": "hibench.hdfs.master",
    "HADOOP_RELEASE": "hibench.hadoop.release",
    "REPORT_COLUMN_FORMATS": "hibench.report.formats",
    "HIBENCH_REPORT": "hibench.report.dir",
    "HIBENCH_REPORT_NAME": "hibench.report.name",
    "NUM_MAPS": "hibench.default.map.parallelism",
    "NUM_REDS": "hibench.default.shuffle.parallelism",
    "INPUT_HDFS": "hibench.workload.input",
    "OUTPUT_HDFS": "hibench.workload.output",
    "MASTERS": "hibench.masters.hostnames",
    "SLAVES": "hibench.slaves.hostnames",
}
OTHERS = {
    "DATASIZE": "hibench.workload.datasize",
    "DATATOOLS": "hibench.hibench.datatool.dir",
    "MAP_SLEEP_TIME": "hibench.sleep.mapper.seconds",
    "RED_SLEEP_TIME": "hibench.sleep.reducer.seconds",
    "RD_NUM_OF_FILES": "hibench.dfsioe.read.number_of_files",
    "RD_FILE_SIZE": "hibench.dfsioe.read.file_size",
    "WT_NUM_OF_FILES": "hibench.dfsioe.write.number_of_files",
    "WT_FILE_SIZE": "hibench.dfsioe.write.file_size",
    "MAP_JAVA_OPTS": "hibench.dfsioe.map.java_opts",
    "RED_JAVA_OPTS": "hibench.dfsioe.red.java_opts",
}


def resolved(value, values):
    return re.sub(r"\$\{([^${}]+)\}", lambda match: values.get(match[1], match[0]), value)


def main(folder, own, script_folder):
    values = {}
    for path in [*sorted(Path(folder).glob("*.conf")), Path(own)]:
        for line in path.read_text().splitlines():
            if line.strip() and not line.strip().startswith("#"):
                key, *rest = re.split(r"\s", line.strip(), maxsplit=1)
                values[key] = rest[0].strip() if rest else ""
    values["hibench.home"] = str(Path(__file__).resolve().parents[2])
    for _ in range(5):  # references in references
        values = {key: resolved(value, values) for key, value in values.items()}
    for key in ("hibench.masters.hostnames", "hibench.slaves.hostnames"):
        assert values.get(key), f"no {key}, and asking YARN takes too long here"
        values[key] = repr(values[key])
    chunks = (Path(values["hibench.hadoop.configure.dir"]) / "mapred-site.xml").read_text().split("<value>")
    for kind, key in (("map", "map"), ("reduce", "red")):
        for before, after in itertools.pairwise(chunks):
            if f"mapreduce.{kind}.java.opts" in before:
                values[f"hibench.dfsioe.{key}.java_opts"] = repr(after.split("<")[0].strip())
    for key in NEEDED.values():
        assert key in values, f"Mandatory configure missing: {key}"
    for key in [*NEEDED.values(), *OTHERS.values()]:
        assert "${" not in values.get(key, ""), f"{key} stays {values[key]}"
    part = Path(script_folder)
    target = Path(values["hibench.report.dir"]) / part.parent.name / part.name / "conf"
    target.mkdir(parents=True, exist_ok=True)
    file = target / f"{part.parent.name}.conf"
    lines = [f"{name}={values.get(key, '')}\n" for name, key in (NEEDED | OTHERS).items()]
    file.write_text("".join([*lines, f"WORKLOAD_RESULT_FOLDER={target}/..\n"]))
    print(file)


main(*sys.argv[1:4])
