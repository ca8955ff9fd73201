#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
. "$root/bin/functions/load_bench_config.sh"
enter_bench PrepareSleep "$root/conf/workloads/micro/sleep.conf" "$here"
echo "nothing to do"
