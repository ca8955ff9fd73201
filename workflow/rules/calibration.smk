# Compares published ratios of real clusters with emulated ones: `snakemake calibrate` in the folder of
# scripts/calibrate, whose papers are the sets of config/calibration.


localrules:
    calibration_tables,
    calibration_page,
    calibrate,


CALIBRATION = [
    "calibration.csv",
    "summary.csv",
    "rates.csv",
    "assumptions.csv",
    "manifest.json",
]


rule calibration_tables:
    """From the verdicts of all sets to ratios, shares inside, rates and assumptions."""
    input:
        expand(
            f"{RESULTS}/{{paper}}/analysis/{{table}}",
            paper=plan.papers,
            table=["verdicts.csv", "readings.csv"],
        ),
        expand(f"{RESULTS}/{{paper}}/logs/analysis.done", paper=plan.papers),
        expand("config/papers/{paper}.yaml", paper=plan.papers),
        program=program("analysis.calibration"),
    output:
        update(expand(f"{RESULTS}/calibration/analysis/{{table}}", table=CALIBRATION)),
        done=touch(f"{RESULTS}/logs/calibration-tables.done"),
    log:
        f"{RESULTS}/logs/calibration-tables.log",
    benchmark:
        f"{RESULTS}/logs/calibration-tables.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(output.done, ancestor=2),
    shell:
        "exec setpriv --pdeathsig KILL whitewire calibration"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"


rule calibration_page:
    """From those tables to the page in HTML and PDF."""
    input:
        expand(f"{RESULTS}/calibration/analysis/{{table}}", table=CALIBRATION),
        f"{RESULTS}/logs/calibration-tables.done",
        document="paper/calibration.qmd",
        style=STYLE,
        functions=program_files("paper/R/papers/calibration/*.R"),
        program=program("report.render"),
    output:
        html=update(f"{REPORTS}/calibration.html"),
        pdf=update(f"{REPORTS}/calibration.pdf"),
        done=touch(f"{RESULTS}/logs/calibration.done"),
        data=update(directory(f"{REPORTS}/data/calibration")),
        figures=update(directory(f"{REPORTS}/figures/calibration")),
    log:
        f"{RESULTS}/logs/calibration.log",
    benchmark:
        f"{RESULTS}/logs/calibration.tsv"
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
        " --paper calibration"
        " --results {params.results:q}"
        " --output {params.reports:q}"
        " > {log:q}"


rule calibrate:
    """The report of each set, their start page, and the calibration's page."""
    input:
        expand(f"{REPORTS}/{{page}}.html", page=["index", "calibration", *plan.papers]),
        expand(f"{REPORTS}/{{page}}.pdf", page=["calibration", *plan.papers]),
        expand(f"{RESULTS}/{{paper}}/logs/paper.done", paper=plan.papers),
        expand(f"{RESULTS}/logs/{{page}}.done", page=["index", "calibration"]),
