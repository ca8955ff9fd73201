# Reports the outcome of a start, however it ended.

import shutil
import sys

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

# Hides Snakemake's lines on each restored table of a failed rule; `whitewire ending` reports them in one line.
RESTORING = "Restored previous version of ", "Cannot restore "
logger.addFilter(lambda record: not str(record.msg).startswith(RESTORING))
# Prints why a job of Slurm failed, because `quiet`, which hides the output of rules, hides that too.
logger.addFilter(
    lambda record: getattr(record, "event", None) != LogEvent.JOB_ERROR
    or not record.rule_msg
    or print(f"{record.rule_name}: {record.rule_msg.splitlines()[0]}", file=sys.stderr)
    is None
)


# Allows one start at a time, even if Snakemake was started by hand. Removes the backups of updated folders that a
# killed Snakemake left, because they would be in the way of new ones.
onstart:
    if workflow.is_main_process:
        try:
            start.begin()
        except Exception as error:
            sys.exit(ended(error, "snakemake"))
        shutil.rmtree(".snakemake/backups", ignore_errors=True)


# The start page is made even if a paper could not be measured; it shows the others, and what happened to this one. So is
# the calibration's page, where the papers are sets.
onerror:
    if workflow.is_main_process and results.has_verdicts(plan.testbed):
        shell(
            "setpriv --pdeathsig KILL whitewire render --paper index"
            " --results {RESULTS:q} --output {REPORTS:q} > /dev/null || true"
        )
        if is_calibration():
            shell(
                "setpriv --pdeathsig KILL whitewire calibration --results {RESULTS:q}"
                " && setpriv --pdeathsig KILL whitewire render --paper calibration"
                " --results {RESULTS:q} --output {REPORTS:q} > /dev/null || true"
            )
    if workflow.is_main_process:
        shell("setpriv --pdeathsig KILL whitewire ending || true")


onsuccess:
    if workflow.is_main_process:
        shell("setpriv --pdeathsig KILL whitewire ending || true")


# If there is nothing to be done, Snakemake calls neither onerror nor onsuccess.
logger.addFilter(
    lambda record: not str(record.msg).startswith("Nothing to be done")
    or print(record.msg, file=sys.stderr)
    or (
        workflow.is_main_process
        and shell("setpriv --pdeathsig KILL whitewire ending || true")
    )
)
