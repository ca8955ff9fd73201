#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench HadoopDfsioe-read "$root/conf/workloads/micro/dfsioe.conf" "$here"
size=$(dir_size "$INPUT_HDFS")
start=$(now_ms)
run_hadoop_job $DATATOOLS org.apache.hadoop.fs.TestDFSIO \
    -Dmapreduce.map.java.opts=\"-Dtest.build.data=$INPUT_HDFS $MAP_JAVA_OPTS\" \
    -Dmapreduce.reduce.java.opts=\"-Dtest.build.data=$INPUT_HDFS $RED_JAVA_OPTS\" -Dtest.build.data=$INPUT_HDFS \
    -read -nrFiles $RD_NUM_OF_FILES -size ${RD_FILE_SIZE}MB -resFile $WORKLOAD_RESULT_FOLDER/result_read.txt
gen_report $start $(now_ms) $size
