# What a start came to, whichever way it ended.

import shutil

from snakemake.logging import logger

# A line for each table of a rule that failed, that it is as before or was not there: `whitewire ending` says it in one.
RESTORING = "Restored previous version of ", "Cannot restore "
logger.addFilter(lambda record: not str(record.msg).startswith(RESTORING))


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
