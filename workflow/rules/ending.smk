# What a start came to, whichever way it ended.

import shutil
import sys

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

# A line for each table of a rule that failed, that it is as before or was not there: `whitewire ending` says it in one.
RESTORING = "Restored previous version of ", "Cannot restore "
logger.addFilter(lambda record: not str(record.msg).startswith(RESTORING))
# Why a job of Slurm failed: what hides the words of rules (quiet) hides that too.
logger.addFilter(
    lambda record: getattr(record, "event", None) != LogEvent.JOB_ERROR
    or not record.rule_msg
    or print(f"{record.rule_name}: {record.rule_msg.splitlines()[0]}", file=sys.stderr)
    is None
)


# One start at a time, also of a Snakemake that was started by hand. What a killed one kept of folders that were to be
# updated goes: nothing can be kept in its place.
onstart:
    if workflow.is_main_process:
        try:
            plan.begin()
        except Exception as error:
            sys.exit(ended(error, "snakemake"))
        shutil.rmtree(".snakemake/backups", ignore_errors=True)


# What could not be measured keeps no other paper from the start page, which says what happened to it.
onerror:
    if workflow.is_main_process and plan.has_verdicts:
        shell(
            "setpriv --pdeathsig KILL whitewire render --paper index"
            " --results {RESULTS:q} --output {REPORTS:q} > /dev/null || true"
        )
    if workflow.is_main_process:
        shell("setpriv --pdeathsig KILL whitewire ending || true")


onsuccess:
    if workflow.is_main_process:
        shell("setpriv --pdeathsig KILL whitewire ending || true")


# Where nothing was to be done, Snakemake calls neither of these.
logger.addFilter(
    lambda record: not str(record.msg).startswith("Nothing to be done")
    or print(record.msg, file=sys.stderr)
    or (
        workflow.is_main_process
        and shell("setpriv --pdeathsig KILL whitewire ending || true")
    )
)
