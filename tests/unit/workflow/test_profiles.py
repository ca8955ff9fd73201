"""Snakemake's profiles, as Snakemake itself reads them."""

import pytest
from snakemake.profiles import ProfileConfigFileParser

from whitewire.paths import HOME


@pytest.mark.parametrize("rule", ["links", "measure"])
def test_what_is_measured_as_a_job_of_slurm_has_its_nodes_whole_and_alone(rule):
    with (HOME / "profiles/slurm/config.yaml").open() as profile:
        found = ProfileConfigFileParser().parse(profile)["set-resources"]
    assert {f"{rule}:slurm_extra='--exclusive'", f"{rule}:mem_mb=0"} <= set(found)
