# Stage 4: tables become estimates with intervals, and claims become verdicts.


rule analysis:
    """From the tables and the paper's claims to estimates, verdicts, model predictions and the audit."""
    input:
        expand(f"{RESULTS}/{{{{paper}}}}/tidy/{{table}}", table=TABLES),
        paper="config/papers/{paper}.yaml",
        testbed=f"config/testbeds/{plan.testbed}.yaml",
        program=plan.sources(
            "analysis.py",
            "claims.py",
            "controls.py",
            "estimands.py",
            "inverse.py",
            "net.py",
            "propagation.py",
            "similitude.py",
            "scaling.py",
            "sweeps.py",
            "statistics.py",
            "models/*.py",
        ),
    output:
        f"{RESULTS}/{{paper}}/analysis/estimates.csv",
        f"{RESULTS}/{{paper}}/analysis/model.csv",
        f"{RESULTS}/{{paper}}/analysis/audit.csv",
        f"{RESULTS}/{{paper}}/analysis/inverse.csv",
        f"{RESULTS}/{{paper}}/analysis/sweeps.csv",
        f"{RESULTS}/{{paper}}/analysis/controls.csv",
        f"{RESULTS}/{{paper}}/analysis/similitude.csv",
        verdicts=report(
            f"{RESULTS}/{{paper}}/analysis/verdicts.csv",
            caption="../report/verdicts.rst",
            category="Verdicts",
            labels={"paper": "{paper}", "table": "verdicts"},
        ),
    log:
        f"{RESULTS}/{{paper}}/logs/analysis.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/analysis.tsv"
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.container("publish")
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
