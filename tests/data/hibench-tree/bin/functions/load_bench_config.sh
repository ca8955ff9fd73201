#!/bin/bash
# Loads the functions that all workloads share.
set -u
. "$(cd -P -- "$(dirname -- "${BASH_SOURCE-$0}")" && pwd -P)/workload_functions.sh"
