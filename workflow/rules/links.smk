# Before any paper: what links, drives and RDMA ports of the testbed carry by themselves, and their page.

LINKS_TABLES = [
    "hosts.csv",
    "fabrics.csv",
    "links.csv",
    "pairs.csv",
    "ways.csv",
    "drives.csv",
    "probes.csv",
    "rdma.csv",
    "outliers.csv",
    "left_out.csv",
    "fit.csv",
    "datapackage.json",
]


rule links:
    """From the testbed's hosts alone to raw results of every pair, drive and RDMA port.

    Needs no paper, no Java and no Hadoop. Runs again when the testbed's description or the effort asks for more, and
    then makes only what is missing; a changed program measures nothing.
    """
    output:
        record=f"{RESULTS}/links/links.json",
    log:
        f"{RESULTS}/logs/links.log",
    benchmark:
        f"{RESULTS}/logs/links.tsv"
    priority: REPORTING
    conda:
        "../../envs/measure.yaml"
    container:
        plan.container("hadoop")
    threads: workflow.cores
    resources:
        measuring=MACHINE,
        mpi="srun",
        nodes=plan.most_nodes,
        tasks=plan.most_nodes,
        runtime=15,
    params:
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
        effort=plan.survey_effort,
        description=plan.description,
    shell:
        "exec setpriv --pdeathsig KILL whitewire links"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " --effort {params.effort:q}"
        " 2> >(tee {log:q} >&2)"


rule links_tables:
    """From raw results of links to tables, and what is beyond its bound with the likely cause."""
    input:
        record=f"{RESULTS}/links/links.json",
        testbed=f"config/testbeds/{plan.testbed}.yaml",
        papers=expand("config/papers/{paper}.yaml", paper=plan.papers),
        program=program("tidy.links"),
    output:
        update(expand(f"{RESULTS}/links/tables/{{table}}", table=LINKS_TABLES)),
        done=touch(f"{RESULTS}/logs/links-tables.done"),
    log:
        f"{RESULTS}/logs/links-tables.log",
    benchmark:
        f"{RESULTS}/logs/links-tables.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.container("publish")
    params:
        results=subpath(input.record, ancestor=2),
    shell:
        "exec setpriv --pdeathsig KILL whitewire tidy-links"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"
