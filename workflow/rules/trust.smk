# Measures how far the emulated testbed can be trusted, on request only: `snakemake trust`, then `snakemake testbed`.


localrules:
    trust_tables,
    trust,


rule trust_measured:
    """From the testbed alone to raw results of links and runs whose right answer is known.

    Runs again when the testbed's description changes, and then makes only what is missing; a changed program measures
    nothing.
    """
    output:
        record=f"{RESULTS}/trust/trust.json",
    log:
        f"{RESULTS}/logs/trust.log",
    benchmark:
        f"{RESULTS}/logs/trust.tsv"
    conda:
        "../../envs/measure.yaml"
    container:
        plan.images.of("hadoop")
    threads: workflow.cores
    resources:
        measuring=MACHINE,
    params:
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
        description=plan.description,
    shell:
        "exec setpriv --pdeathsig KILL whitewire trust"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"


rule trust_tables:
    """From those raw results, and the papers' runs where there are some, to each question's answer."""
    input:
        record=f"{RESULTS}/trust/trust.json",
        program=program("analysis.trust"),
    output:
        update(expand(f"{RESULTS}/trust/tables/{{table}}", table=results.TRUST_FILES)),
        done=touch(f"{RESULTS}/logs/trust-tables.done"),
    log:
        f"{RESULTS}/logs/trust-tables.log",
    benchmark:
        f"{RESULTS}/logs/trust-tables.tsv"
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        results=subpath(input.record, ancestor=2),
        # Not inputs, so that no paper is measured or judged for this rule.
        papers=results.state(
            plan.testbed, "*/tidy/datapackage.json", "*/analysis/manifest.json"
        ),
    shell:
        "exec setpriv --pdeathsig KILL whitewire trust-tables"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"


rule trust:
    """Those tables, and nothing else."""
    input:
        expand(f"{RESULTS}/trust/tables/{{table}}", table=results.TRUST_FILES),
        f"{RESULTS}/logs/trust-tables.done",
