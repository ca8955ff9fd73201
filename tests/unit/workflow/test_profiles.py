"""Snakemake's profiles, as Snakemake itself reads them."""

import pytest
import yaml
from snakemake.profiles import ProfileConfigFileParser

from whitewire.paths import HOME
from whitewire.workflow.job_needs import JobNeeds
from whitewire.workflow.plan import MACHINE, Plan


@pytest.mark.parametrize("rule", ["links_network", "links_drives", "links_rdma", "links_transports", "measure"])
def test_what_is_measured_as_a_job_of_slurm_has_its_nodes_whole_and_alone(rule):
    with (HOME / "profiles/slurm/config.yaml").open() as profile:
        found = ProfileConfigFileParser().parse(profile)["set-resources"]
    assert {f"{rule}:slurm_extra='--exclusive'", f"{rule}:mem_mb=0"} <= set(found)


@pytest.mark.parametrize("name", ["slurm", "jobs"])
def test_a_scheduler_has_a_job_for_each_lane_that_a_site_may_have(name):
    with (HOME / f"profiles/{name}/config.yaml").open() as profile:
        found = ProfileConfigFileParser().parse(profile)
    with (HOME / "workflow/schemas/testbed.schema.yaml").open() as schema:
        most = yaml.safe_load(schema)["$defs"]["job"]["properties"]["lanes"]["maximum"]
    assert int(found["jobs"]) >= most
    assert MACHINE // most >= 1 and f"measuring={MACHINE}" in found["resources"]


def test_profiles_of_jobs_differ_only_in_how_jobs_are_submitted():
    slurm, jobs = (yaml.safe_load((HOME / f"profiles/{name}/config.yaml").read_text()) for name in ("slurm", "jobs"))
    submitted = {"executor", "default-resources", "set-resources", "max-status-checks-per-second"}
    own = {key for key in {*slurm, *jobs} if key in submitted or key.startswith(("slurm", "cluster"))}
    assert {key: slurm[key] for key in {*slurm} - own} == {key: jobs[key] for key in {*jobs} - own}


@pytest.mark.parametrize(
    "cores, lanes, needs, threads",
    [(8, 1, {}, 8), (8, 3, {}, 0), (2, 4, {}, 0), (1, 4, {("paper", "quick-1"): (4, 60)}, 1)],
)
def test_more_lanes_than_cores_are_measured_at_once(cores, lanes, needs, threads):
    assert Plan([], "site", "quick", 1, {}, lanes=lanes, needs=JobNeeds(needs)).threads(cores) == threads
