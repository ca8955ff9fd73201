# Stage 3: raw output becomes long tables. Parsers may change as often as they like: raw results are read again.

TABLES = [
    "runs.csv",
    "series.csv.gz",
    "operations.csv",
    "probes.csv",
    "drives.csv",
    "rdma.csv",
    "topology.csv",
    "placement.csv",
    "floors.csv",
    "phases.csv",
    "treatments.csv",
    "unavailable.csv",
    "left.csv",
    "marks.csv",
    "scale.csv",
    "datapackage.json",
]


rule tidy:
    """From all blocks of a paper to tables that a data package describes column by column."""
    input:
        lambda wildcards: plan.blocks(
            f"{RESULTS}/{{paper}}/raw/{{block}}/block.json", wildcards.paper
        ),
        program=program("tidy.tables"),
    output:
        expand(f"{RESULTS}/{{{{paper}}}}/tidy/{{table}}", table=TABLES),
    log:
        f"{RESULTS}/{{paper}}/logs/tidy.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/tidy.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.container("publish")
    params:
        results=lambda wildcards: f"{RESULTS}/{wildcards.paper}",
    shell:
        "exec setpriv --pdeathsig KILL whitewire tidy"
        " --paper {wildcards.paper:q}"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"
