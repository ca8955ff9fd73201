#!/usr/bin/env python3
"""Stands for the sampler of the workers: says its process id and waits to be ended."""

import os
import sys
import time

if (child := os.fork()) > 0:
    print(child)
    sys.exit()
sys.stdout.flush()
os.close(1)
time.sleep(600)
