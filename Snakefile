# What `snakemake` finds in this folder: the workflow of workflow/Snakefile, where the Snakemake workflow catalog looks.
include: "workflow/Snakefile"


workflow.default_target = "all"  # an included file sets none
