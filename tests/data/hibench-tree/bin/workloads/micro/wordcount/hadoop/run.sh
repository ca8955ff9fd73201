#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench HadoopWordcount "$root/conf/workloads/micro/wordcount.conf" "$here"
hadoop_fs -rm -r -skipTrash "$OUTPUT_HDFS" || true
size=$(dir_size "$INPUT_HDFS")
start=$(now_ms)
run_hadoop_job $HADOOP_EXAMPLES_JAR wordcount -D mapreduce.job.reduces=$NUM_REDS \
    -D mapreduce.job.inputformat.class=org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat \
    $INPUT_HDFS $OUTPUT_HDFS
gen_report $start $(now_ms) $size
