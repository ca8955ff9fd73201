# The page of what the testbed carries by itself. Its tables: links_tables.smk, and trust.smk where that was asked for.


localrules:
    testbed_page,
    testbed,


rule testbed_page:
    """From the tables of links to the testbed's page in HTML and PDF."""
    input:
        expand(f"{RESULTS}/links/tables/{{table}}", table=LINKS_TABLES),
        f"{RESULTS}/logs/links-tables.done",
        document="paper/testbed.qmd",
        style=STYLE,
        functions=plan.files("paper/R/papers/testbed/*.R"),
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
        plan.container("publish")
    params:
        results=subpath(output.html, ancestor=2),
        reports=subpath(output.html, parent=True),
        # Not an input: the page shows it where it is there, and asks for none.
        trust=plan.state("trust/tables/datapackage.json"),
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
