# Stage 5: documents. They read tables, descriptions and records of the environment, and compute no estimate.

STYLE = program_files(
    "paper/*.R",
    "paper/R/*.R",
    "paper/R/data/*.R",
    "paper/R/text/*.R",
    "paper/R/figures/*.R",
    "paper/parts/*.qmd",
    "paper/filters/*",
    "paper/templates/*",
    "paper/*.bib",
    "paper/*.csl",
    "paper/_quarto.yml",
    "workflow/rules/*.smk",  # shown on pages
)


rule paper:
    """From a paper's document and tables to its report in HTML and PDF, its brief, figures with data, and badges."""
    input:
        expand(f"{RESULTS}/{{{{paper}}}}/tidy/{{table}}", table=results.TIDY_FILES),
        expand(f"{RESULTS}/{{{{paper}}}}/analysis/{{table}}", table=ANALYSES),
        expand(
            f"{RESULTS}/{{{{paper}}}}/logs/{{stage}}.done", stage=["tidy", "analysis"]
        ),
        carried=lambda wildcards: results.transport_tables(plan, wildcards.paper),
        document="paper/{paper}.qmd",
        paper="config/papers/{paper}.yaml",
        style=STYLE,
        functions=lambda wildcards: program_files(
            f"paper/R/papers/{wildcards.paper}/*.R"
        ),
        program=program("report.render"),
    output:
        html=update(f"{REPORTS}/{{paper}}.html"),
        pdf=update(f"{REPORTS}/{{paper}}.pdf"),
        brief=update(f"{REPORTS}/{{paper}}.brief.pdf"),
        done=touch(f"{RESULTS}/{{paper}}/logs/paper.done"),
        data=update(directory(f"{REPORTS}/data/{{paper}}")),
        badges=update(directory(f"{REPORTS}/badges/{{paper}}")),
        figures=report(
            update(directory(f"{REPORTS}/figures/{{paper}}")),
            patterns=["{figure}.png"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"paper": "{paper}", "figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/{{paper}}/logs/paper.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/paper.tsv"
    priority: REPORTING
    conda:
        "../../envs/paper.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(output.html, ancestor=2),
        reports=subpath(output.html, parent=True),
    shell:
        "exec setpriv --pdeathsig KILL whitewire render"
        " --paper {wildcards.paper:q}"
        " --results {params.results:q}"
        " --output {params.reports:q}"
        " --start-page"
        " > {log:q}"


rule index:
    """From the verdicts of all papers, beside the reference results, to the start page."""
    input:
        expand(
            f"{RESULTS}/{{paper}}/analysis/{{table}}",
            paper=plan.papers,
            table=ANALYSES,
        ),
        expand(f"{RESULTS}/{{paper}}/logs/analysis.done", paper=plan.papers),
        expand("config/papers/{paper}.yaml", paper=plan.papers),
        document="paper/index.qmd",
        style=STYLE,
        functions=program_files("paper/R/papers/index/*.R"),
        reference=results.reference_files(),
        program=program("report.render"),
    output:
        html=update(f"{REPORTS}/index.html"),
        done=touch(f"{RESULTS}/logs/index.done"),
    log:
        f"{RESULTS}/logs/index.log",
    benchmark:
        f"{RESULTS}/logs/index.tsv"
    priority: REPORTING
    conda:
        "../../envs/paper.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(output.html, ancestor=2),
        reports=subpath(output.html, parent=True),
    shell:
        "exec setpriv --pdeathsig KILL whitewire render"
        " --paper index"
        " --results {params.results:q}"
        " --output {params.reports:q}"
        " > {log:q}"
