# Stage 2: the measurements. One job per block, as many at once as there are lanes: it brings the cluster up, makes the
# runs that are missing and takes the cluster down. Its journal (raw/<block>/runs/) is no declared output, so Snakemake never deletes a finished run.


rule measure:
    """From the rows of one block to raw results.

    The testbed's links come first. Runs again when the design changed, and then makes only the runs that the journal
    lacks; a changed program measures nothing.
    """
    input:
        design=f"{RESULTS}/{{paper}}/design.csv",
        # Links that were measured again are no reason to measure a paper again.
        links=ancient(f"{RESULTS}/links/links.json"),
    output:
        f"{RESULTS}/{{paper}}/raw/{{block}}/block.json",
    log:
        f"{RESULTS}/{{paper}}/logs/measure/{{block}}.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/measure/{{block}}.tsv"
    # The shortest paper's first. What follows from finished blocks has a higher priority: a paper is judged and
    # reported before the next one is measured.
    priority: lambda wildcards: plan.turn(wildcards.paper, wildcards.block)
    conda:
        "../../envs/measure.yaml"
    container:
        plan.container("hadoop")
    threads: plan.threads(workflow.cores)
    resources:
        measuring=plan.share,
        # What a job of Slurm needs (profiles/slurm); a run on this machine takes no notice.
        mpi="srun",
        nodes=lambda wildcards: plan.nodes(wildcards.paper, wildcards.block),
        tasks=lambda wildcards: plan.nodes(wildcards.paper, wildcards.block),
        runtime=lambda wildcards: plan.minutes(wildcards.paper, wildcards.block),
    params:
        testbed=plan.testbed,
        rows=lambda wildcards: plan.digest(wildcards.paper, wildcards.block),
        budget=plan.allowed,  # another one: measuring goes on
    shell:
        "exec setpriv --pdeathsig KILL whitewire measure"
        " --paper {wildcards.paper:q}"
        " --testbed {params.testbed:q}"
        " --design {input.design:q}"
        " --block {wildcards.block:q}"
        " --output {output:q}"
        " 2> >(tee {log:q} >&2)"


rule measured:
    """All blocks of all papers, and nothing after them."""
    input:
        plan.blocks(f"{RESULTS}/{{paper}}/raw/{{block}}/block.json"),
