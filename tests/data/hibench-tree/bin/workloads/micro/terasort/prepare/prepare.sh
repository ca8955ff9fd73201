#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench HadoopPrepareTerasort "$root/conf/workloads/micro/terasort.conf" "$here"
hadoop_fs -rm -r -skipTrash "$INPUT_HDFS" || true
run_hadoop_job $HADOOP_EXAMPLES_JAR teragen -D mapreduce.job.maps=$NUM_MAPS $DATASIZE $INPUT_HDFS
