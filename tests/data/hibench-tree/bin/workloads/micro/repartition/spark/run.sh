#!/bin/bash
echo "needs Spark" >&2
exit 1
