#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench HadoopPrepareSort "$root/conf/workloads/micro/sort.conf" "$here"
hadoop_fs -rm -r -skipTrash "$INPUT_HDFS" || true
run_hadoop_job $HADOOP_EXAMPLES_JAR randomtextwriter -D mapreduce.randomtextwriter.totalbytes=$DATASIZE \
    -D mapreduce.randomtextwriter.bytespermap=$((DATASIZE / NUM_MAPS)) $INPUT_HDFS
