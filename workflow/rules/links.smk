# Measurements of the testbed's links, drives, RDMA ports and transports before any paper, one rule each. They need no
# paper, no Java and no Hadoop. They run again when the testbed's description or the effort requires more, and then
# measure only what is missing; a changed program alone starts no measurement.


localrules:
    links,


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
        plan.images.of("hadoop")
    threads: workflow.cores
    resources:
        measuring=MACHINE,
        mpi="srun",
        nodes=plan.needs.most_nodes,
        tasks=plan.needs.most_nodes,
        runtime=15,
    params:
        part="network",
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
        effort=results.survey_effort(plan),
        description=plan.description,
    shell:
        "exec setpriv --pdeathsig KILL whitewire links"
        " --part {params.part:q}"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " --effort {params.effort:q}"
        " 2> >(trap '' HUP INT USR1 USR2 TERM; exec tee {log:q} >&2)"


use rule links_network as links_drives with:
    # Every drive and mount, by fio.
    output:
        record=f"{RESULTS}/links/drives.json",
    log:
        f"{RESULTS}/logs/links-drives.log",
    benchmark:
        f"{RESULTS}/logs/links-drives.tsv"
    priority: REPORTING + 1
    params:
        part="drives",


use rule links_network as links_rdma with:
    # Every RDMA port, by perftest.
    output:
        record=f"{RESULTS}/links/rdma.json",
    log:
        f"{RESULTS}/logs/links-rdma.log",
    benchmark:
        f"{RESULTS}/logs/links-rdma.tsv"
    priority: REPORTING
    params:
        part="rdma",


use rule links_network as links_transports with:
    # Every transport with a library or variables, by iperf3.
    output:
        record=f"{RESULTS}/links/transports.json",
    log:
        f"{RESULTS}/logs/links-transports.log",
    benchmark:
        f"{RESULTS}/logs/links-transports.tsv"
    priority: REPORTING
    params:
        part="transports",
        transports=results.measured_transports(plan.testbed),


rule links:
    """From what iperf3, fio and perftest found to the record of the testbed's links, which all that follows reads."""
    input:
        expand(f"{RESULTS}/links/{{part}}.json", part=results.link_parts(plan.testbed)),
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
        plan.images.of("hadoop")
    params:
        testbed=plan.testbed,
        results=subpath(output.record, ancestor=2),
    shell:
        "exec setpriv --pdeathsig KILL whitewire links"
        " --part record"
        " --testbed {params.testbed:q}"
        " --results {params.results:q}"
        " 2> >(trap '' HUP INT USR1 USR2 TERM; exec tee {log:q} >&2)"
