#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench HadoopSort "$root/conf/workloads/micro/sort.conf" "$here"
hadoop_fs -rm -r -skipTrash "$OUTPUT_HDFS" || true
size=$(dir_size "$INPUT_HDFS")
start=$(now_ms)
run_hadoop_job $HADOOP_EXAMPLES_JAR sort -outKey org.apache.hadoop.io.Text -outValue org.apache.hadoop.io.Text \
    -r $NUM_REDS $INPUT_HDFS $OUTPUT_HDFS
gen_report $start $(now_ms) $size
