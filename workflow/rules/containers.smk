# The images for rules with `--software-deployment-method apptainer`; `snakemake containers` makes them all.

IMAGES = ["probes", "hadoop", "hibench", "publish"]


localrules:
    containers,
    container,


rule container:
    """From a definition file, what it copies and the image that it starts from to an image.

    Its label org.opencontainers.image.revision is the commit of this checkout, in which the command whitewire lies.
    """
    input:
        lambda wildcards: image_made_of(wildcards.image),
    output:
        ".cache/containers/{image}.sif",
    log:
        ".cache/logs/container-{image}.log",
    benchmark:
        ".cache/logs/container-{image}.tsv"
    wildcard_constraints:
        image="|".join(IMAGES),
    conda:
        "../../envs/containers.yaml"
    container:
        None
    shell:
        'commit=$(git -C "$(dirname "$(command -v whitewire)")" rev-parse HEAD || echo unknown);'
        " exec setpriv --pdeathsig TERM guard apptainer build"
        " --force"
        ' --build-arg "commit=$commit"'
        " {output:q}"
        " containers/{wildcards.image}.def"
        " > {log:q} 2>&1"


rule containers:
    """All images; with HiBench where there is a copy of it."""
    input:
        lambda wildcards: expand(
            ".cache/containers/{image}.sif", image=filter(can_make, IMAGES)
        ),
