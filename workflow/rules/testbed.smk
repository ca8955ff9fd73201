# Tables and page about the testbed's links, drives, RDMA ports and transports (links.smk), and about trust in it
# (trust.smk) if that was measured.


localrules:
    links_tables,
    testbed_page,
    testbed,


rule links_tables:
    """From raw results of links to tables, and what is beyond its bound with the likely cause."""
    input:
        record=f"{RESULTS}/links/links.json",
        testbed=f"config/testbeds/{plan.testbed}.yaml",
        papers=expand("config/papers/{paper}.yaml", paper=plan.papers),
        program=program("tidy.links"),
    output:
        update(expand(f"{RESULTS}/links/tables/{{table}}", table=results.LINKS_FILES)),
        done=touch(f"{RESULTS}/logs/links-tables.done"),
    log:
        f"{RESULTS}/logs/links-tables.log",
    benchmark:
        f"{RESULTS}/logs/links-tables.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(input.record, ancestor=2),
    shell:
        "exec setpriv --pdeathsig KILL whitewire tidy-links"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"


rule testbed_page:
    """From the tables of links to the testbed's page in HTML and PDF."""
    input:
        expand(f"{RESULTS}/links/tables/{{table}}", table=results.LINKS_FILES),
        f"{RESULTS}/logs/links-tables.done",
        document="paper/testbed.qmd",
        style=STYLE,
        functions=program_files("paper/R/papers/testbed/*.R"),
        program=program("report.render"),
    output:
        html=update(f"{REPORTS}/testbed.html"),
        pdf=update(f"{REPORTS}/testbed.pdf"),
        done=touch(f"{RESULTS}/logs/testbed.done"),
        data=update(directory(f"{REPORTS}/data/testbed")),
        figures=update(directory(f"{REPORTS}/figures/testbed")),
    log:
        f"{RESULTS}/logs/testbed.log",
    benchmark:
        f"{RESULTS}/logs/testbed.tsv"
    priority: REPORTING
    conda:
        "../../envs/paper.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(output.html, ancestor=2),
        reports=subpath(output.html, parent=True),
        # Not an input: the page shows it if it exists, but does not require it.
        trust=results.state(plan.testbed, "trust/tables/datapackage.json"),
    shell:
        "exec setpriv --pdeathsig KILL whitewire render"
        " --paper testbed"
        " --results {params.results:q}"
        " --output {params.reports:q}"
        " > {log:q}"


rule testbed:
    """The testbed's page, and nothing else."""
    input:
        f"{REPORTS}/testbed.html",
        f"{REPORTS}/testbed.pdf",
        f"{RESULTS}/logs/testbed.done",
