# Stage 3: raw output becomes long tables. When parsers change, raw results are read again.


rule tidy:
    """From all blocks of a paper to tables that a data package describes column by column.

    What is to be updated stays as it was when the rule fails. Then the file `done` is missing, so that the rule runs
    again; what follows asks for it. The same holds for rules below.
    """
    input:
        # A paper without runs has a design alone.
        lambda wildcards: plan.blocks(
            f"{RESULTS}/{{paper}}/raw/{{block}}/block.json", wildcards.paper
        )
        or f"{RESULTS}/{wildcards.paper}/design.csv",
        program=program("tidy.tables"),
    output:
        update(
            expand(f"{RESULTS}/{{{{paper}}}}/tidy/{{table}}", table=results.TIDY_FILES)
        ),
        done=touch(f"{RESULTS}/{{paper}}/logs/tidy.done"),
    log:
        f"{RESULTS}/{{paper}}/logs/tidy.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/tidy.tsv"
    priority: REPORTING
    conda:
        "../../envs/analysis.yaml"
    container:
        plan.images.of("publish")
    params:
        results=lambda wildcards: f"{RESULTS}/{wildcards.paper}",
    shell:
        "exec setpriv --pdeathsig KILL whitewire tidy"
        " --paper {wildcards.paper:q}"
        " --results {params.results:q}"
        " 2> >(tee {log:q} >&2)"
