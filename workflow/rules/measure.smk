# Stage 2: the measurements. One job per block, as many at once as there are lanes, which starts the cluster, makes the
# missing runs and stops the cluster. Its journal (raw/<block>/runs/) is not a declared output, so Snakemake never
# deletes a finished run. `tee` outlives a scheduler's signal to all processes of a job, which measuring reports.


# Where a paper's blocks are measured one after the other, they share a resource with one unit: a block that began and then
# waited would keep its lane from the next paper.
IN_TURN = {f"block_of_{paper}": paper for paper in plan.papers if plan.in_turn}
for resource in IN_TURN:
    workflow.register_resource(resource, 1)


rule measure:
    """From the rows of one block to raw results.

    The testbed's links come first. Runs again when the design changed, and then makes only the runs that the journal
    lacks; a changed program measures nothing.
    """
    input:
        design=f"{RESULTS}/{{paper}}/design.csv",
        # A new measurement of links is no reason to measure a paper again.
        links=ancient(f"{RESULTS}/links/links.json"),
    output:
        f"{RESULTS}/{{paper}}/raw/{{block}}/block.json",
    log:
        f"{RESULTS}/{{paper}}/logs/measure/{{block}}.log",
    benchmark:
        f"{RESULTS}/{{paper}}/logs/measure/{{block}}.tsv"
    # The shortest paper comes first. Rules that use finished blocks have a higher priority, so that a paper is judged
    # and reported before the next one is measured.
    priority: lambda wildcards: plan.turn(wildcards.paper, wildcards.block)
    conda:
        "../../envs/measure.yaml"
    container:
        plan.images.of("hadoop")
    threads: plan.threads(workflow.cores)
    resources:
        **{
            resource: lambda wildcards, paper=paper: int(wildcards.paper == paper)
            for resource, paper in IN_TURN.items()
        },
        measuring=plan.share,
        # Requirements of a Slurm job (profiles/slurm), which a run on this machine ignores.
        mpi="srun",
        nodes=lambda wildcards: plan.needs.nodes(wildcards.paper, wildcards.block),
        tasks=lambda wildcards: plan.needs.nodes(wildcards.paper, wildcards.block),
        runtime=lambda wildcards: plan.needs.minutes(wildcards.paper, wildcards.block),
    params:
        testbed=plan.testbed,
        rows=lambda wildcards: plan.digest(wildcards.paper, wildcards.block),
        budget=plan.allowed,  # with another budget measuring continues
    shell:
        "exec setpriv --pdeathsig KILL whitewire measure"
        " --paper {wildcards.paper:q}"
        " --testbed {params.testbed:q}"
        " --design {input.design:q}"
        " --block {wildcards.block:q}"
        " --output {output:q}"
        " 2> >(trap '' HUP INT USR1 USR2 TERM; exec tee {log:q} >&2)"


rule measured:
    """All blocks of all papers, and nothing after them."""
    input:
        plan.blocks(f"{RESULTS}/{{paper}}/raw/{{block}}/block.json"),
