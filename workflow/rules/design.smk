# Stage 1: the runs and their order.
#
# In every rule `exec setpriv --pdeathsig KILL` ends the command when Snakemake ends in any way.


rule design:
    """From a paper's experiments and the effort to one row per run, randomised inside blocks.

    Runs again when the rows change, not when some other part of the paper's file does: a corrected claim must not
    make Snakemake look at the measurements.
    """
    output:
        f"{RESULTS}/{{paper}}/design.csv",
    log:
        f"{RESULTS}/{{paper}}/logs/design.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/design.tsv"
    # Before the links, in the order of the measurements, because with lanes each one begins when its design exists.
    priority: lambda wildcards: REPORTING + 2 + plan.turn_of(wildcards.paper)
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        testbed=plan.testbed,
        effort=plan.effort,
        rows=lambda wildcards: plan.digest(wildcards.paper),
    shell:
        "exec setpriv --pdeathsig KILL whitewire design"
        " --paper {wildcards.paper:q}"
        " --testbed {params.testbed:q}"
        " --effort {params.effort:q}"
        " --output {output:q}"
        " 2> >(tee {log:q} >&2)"
