"""Whitewire: from a paper's claims to measurements, verdicts and a report.

    config -> links -> design -> measure -> raw -> tidy -> analysis -> paper

Each stage is one file below workflow/rules/ and one command of `whitewire`; a stage reads the results of
earlier stages only. `--config effort=smoke` and the environment (EFFORT, PAPERS, TESTBED, BUDGET) override
config/config.yaml.
"""

import sys

from snakemake.utils import min_version

from whitewire.errors import UserError, of_system
from whitewire.workflow.plan import Plan
from whitewire.workflow.programs import program

min_version("9.0")

try:
    plan = Plan.load(
        given=config,
        deployment=map(str, workflow.deployment_settings.deployment_method),
    )
except (UserError, OSError) as error:
    told = of_system(error) if isinstance(error, OSError) else error
    print(f"whitewire: error: {told}", file=sys.stderr)
    sys.exit(2)

# The command `whitewire` is this checkout's wherever a rule runs: here, in its conda environment, in its container.
shell.prefix("set -euo pipefail; {plan.preamble}; ")

RESULTS = f"results/{plan.testbed}"
REPORTS = f"{RESULTS}/reports"
REPORTING = 1000  # before any measurement: see rule measure


wildcard_constraints:
    paper="[a-z0-9][a-z0-9-]*",
    block="[A-Za-z0-9][A-Za-z0-9_.-]*",


# With an executor of jobs, only measurements become jobs: the rest takes seconds, where Snakemake was started.
localrules:
    all,
    measured,
    design,
    tidy,
    analysis,
    paper,
    index,
    links_tables,
    testbed_page,
    testbed,
    trust_tables,
    trust,


report: "workflow/report/workflow.rst"


rule all:
    input:
        f"{REPORTS}/index.html",
        f"{REPORTS}/testbed.html",
        # Not only through the tables: a block whose folder was removed is measured again.
        plan.blocks(f"{RESULTS}/{{paper}}/raw/{{block}}/block.json"),
        expand(
            f"{REPORTS}/{{paper}}.{{format}}",
            paper=plan.papers,
            format=["html", "pdf"],
        ),


include: "workflow/rules/design.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/tidy.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/links.smk"
include: "workflow/rules/trust.smk"
include: "workflow/rules/containers.smk"
include: "workflow/rules/ending.smk"
