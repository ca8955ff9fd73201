# Stage 4: tables become estimates with intervals, and claims become verdicts.

ANALYSES = [
    "estimates.csv",
    "verdicts.csv",
    "readings.csv",
    "model.csv",
    "model_as_run.csv",
    "audit.csv",
    "inverse.csv",
    "sweeps.csv",
    "controls.csv",
    "similitude.csv",
]


rule analysis:
    """From the tables and the paper's claims to estimates, verdicts, model predictions and the audit."""
    input:
        expand(f"{RESULTS}/{{{{paper}}}}/tidy/{{table}}", table=results.TIDY_FILES),
        f"{RESULTS}/{{paper}}/logs/tidy.done",
        paper="config/papers/{paper}.yaml",
        testbed=f"config/testbeds/{plan.testbed}.yaml",
        program=program("analysis.analyse"),
    output:
        update(
            expand(
                f"{RESULTS}/{{{{paper}}}}/analysis/{{table}}",
                table=[table for table in ANALYSES if table != "verdicts.csv"],
            )
        ),
        done=touch(f"{RESULTS}/{{paper}}/logs/analysis.done"),
        verdicts=report(
            update(f"{RESULTS}/{{paper}}/analysis/verdicts.csv"),
            caption="../report/verdicts.rst",
            category="Verdicts",
            labels={"paper": "{paper}", "table": "verdicts"},
        ),
    log:
        f"{RESULTS}/{{paper}}/logs/analysis.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/analysis.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        testbed=plan.testbed,
        results=lambda wildcards: f"{RESULTS}/{wildcards.paper}",
        seed=plan.seed,
    shell:
        "exec setpriv --pdeathsig KILL whitewire analyse"
        " --paper {wildcards.paper:q}"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"


rule claim:
    """The verdict on the claim that WHITEWIRE_CLAIM names, and nothing after it: for `make claim`."""
    input:
        expand(f"{RESULTS}/{{paper}}/analysis/verdicts.csv", paper=plan.papers),
        expand(f"{RESULTS}/{{paper}}/logs/analysis.done", paper=plan.papers),
        plan.blocks(f"{RESULTS}/{{paper}}/raw/{{block}}/block.json"),
