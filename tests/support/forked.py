"""Starts of Snakemake and `whitewire` that find their imports done: a process that has them makes a copy of itself.

Importing is most of what a dry run takes, or a command that is refused; most of the rest are checks of the papers and
simulations of run times, so the process has planned the paper of most tests once. The copy gets folder, environment,
arguments and output of its own, and ends as the program does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from whitewire.paths import HOME

PLANNED = {"PAPERS": "emulex-2012", "EFFORT": "smoke"}
SERVER = """
import json, os, sys
from tests.support import once
from whitewire.description import checks
checks.load_paper = once.loading(checks.load_paper)  # before other modules take it from there
import snakemake.cli
import whitewire.cli
from whitewire.workflow import documents, plan  # which both programs import when they are called

plan.Plan.load()
for line in sys.stdin:
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
request = json.loads(line)
os.chdir(request["cwd"])
os.environ.clear()
os.environ.update(request["env"])
for number, path in enumerate(request["files"]):
    os.dup2(os.open(path, os.O_RDWR), number)
sys.argv = request["argv"]
sys.orig_argv = [sys.executable, *sys.argv]  # whitewire may begin anew
sys.exit({"snakemake": snakemake, "whitewire": whitewire}[os.path.basename(sys.argv[0])].cli.main())
"""


@cache
def _server() -> subprocess.Popen[str]:
    argv, environment = [sys.executable, "-c", SERVER], {**os.environ, **PLANNED}
    return subprocess.Popen(argv, cwd=HOME, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(argv: list[str], cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What a program says and ends with: the last part of its path is `snakemake` or `whitewire`."""
    server = _server()
    assert server.stdin and server.stdout
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        request = {"argv": argv, "cwd": str(cwd), "env": dict(env), "files": ["/dev/null", out.name, err.name]}
        print(json.dumps(request), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(argv, status, out.read(), err.read())
