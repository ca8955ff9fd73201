# From what is measured of links, drives and RDMA ports to their record and its tables.

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


localrules:
    links,
    links_tables,


rule links:
    """From what iperf3, fio and perftest found to the record of the testbed's links, which all that follows reads."""
    input:
        expand(f"{RESULTS}/links/{{part}}.json", part=["network", "drives", "rdma"]),
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
    params:
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
    shell:
        "exec setpriv --pdeathsig KILL whitewire links"
        " --part record"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
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
