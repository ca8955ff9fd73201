#!/bin/bash
# What the scripts of all workloads share.
functions=$(cd -P -- "$(dirname -- "${BASH_SOURCE-$0}")" && pwd -P)
HIBENCH_CONF_FOLDER=${HIBENCH_CONF_FOLDER:-$functions/../../conf}

enter_bench() { # name, the workload's configuration, the script's folder
    bench=$1
    . $("$functions/load_config.py" "$HIBENCH_CONF_FOLDER" "$2" "$3")
    echo "start $bench bench"
}

now_ms() { date +%s%3N; }

hadoop_fs() { # the command stands in a variable: its quotes are no longer quotes
    command="$HADOOP_EXECUTABLE --config $HADOOP_CONF_DIR fs $*"
    $command
}

dir_size() { # every whole number that `du` prints, on a line of its own
    for word in $(hadoop_fs -du -s "$1"); do [[ $word =~ ^[0-9]+$ ]] && echo "$word"; done
}

run_hadoop_job() { # jar, program, arguments
    command="$HADOOP_EXECUTABLE --config $HADOOP_CONF_DIR jar $*"
    echo "Submit MapReduce Job: $command"
    monitor=$("$functions/monitor.py" &)
    $command
    status=$?
    kill "$monitor"
    if [ $status -ne 0 ]; then
        echo "ERROR: Hadoop job $1 $2 failed to run successfully."
        exit $status
    fi
}

gen_report() { # start, end (ms), bytes
    size=$3
    if ! which bc > /dev/null 2>&1; then return 1; fi
    seconds=$(echo "scale=3;($2-$1)/1000" | bc)
    rate=$(echo "$size/$seconds" | bc)
    each=$(echo "$rate/$(echo $SLAVES | wc -w)" | bc)
    report=$HIBENCH_REPORT/$HIBENCH_REPORT_NAME
    if [ ! -f "$report" ]; then
        printf "$REPORT_COLUMN_FORMATS" Type Date Time Input_data_size "Duration(s)" "Throughput(bytes/s)" \
            Throughput/node > "$report"
    fi
    printf "$REPORT_COLUMN_FORMATS" $bench $(date +%F) $(date +%T) $size $seconds $rate $each >> "$report"
}
