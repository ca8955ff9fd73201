# What a start came to, whichever way it ended.


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
