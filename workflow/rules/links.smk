# Before any paper: what links, drives and RDMA ports of the testbed carry by themselves, each measured by a rule of its
# own. They need no paper, no Java and no Hadoop. They run again when the testbed's description or the effort asks for more,
# and then make only what is missing; a changed program measures nothing.


rule links_network:
    """From the testbed's hosts alone to raw results of every pair, by iperf3."""
    output:
        record=f"{RESULTS}/links/network.json",
    log:
        f"{RESULTS}/logs/links-network.log",
    benchmark:
        f"{RESULTS}/logs/links-network.tsv"
    priority: REPORTING + 2
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
        " --part network"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " --effort {params.effort:q}"
        " 2> >(tee {log:q} >&2)"


rule links_drives:
    """From the testbed's hosts alone to raw results of every drive and mount, by fio."""
    output:
        record=f"{RESULTS}/links/drives.json",
    log:
        f"{RESULTS}/logs/links-drives.log",
    benchmark:
        f"{RESULTS}/logs/links-drives.tsv"
    priority: REPORTING + 1
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
        runtime=10,
    params:
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
        effort=plan.survey_effort,
        description=plan.description,
    shell:
        "exec setpriv --pdeathsig KILL whitewire links"
        " --part drives"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " --effort {params.effort:q}"
        " 2> >(tee {log:q} >&2)"


rule links_rdma:
    """From the testbed's hosts alone to raw results of every RDMA port, by perftest."""
    output:
        record=f"{RESULTS}/links/rdma.json",
    log:
        f"{RESULTS}/logs/links-rdma.log",
    benchmark:
        f"{RESULTS}/logs/links-rdma.tsv"
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
        " --part rdma"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " --effort {params.effort:q}"
        " 2> >(tee {log:q} >&2)"
