"""What is documented, what is there, and what a test runs for real: the same workloads and experiments."""

import re

import pytest

from tests.integration.test_experiments import PAPERS
from tests.integration.test_workloads import PARAMETERS
from tests.support.documented import HOME
from tests.support.small import one_of_each
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.tools import hibench
from whitewire.workloads import WORKLOADS

RUN = {name.partition(" ")[0] for name in PARAMETERS}
PROGRAMS = {name.partition(" ")[2] for name in PARAMETERS if name.startswith("hibench ")}


def documented(page: str, line: str) -> set[str]:
    (found,) = re.findall(line, (HOME / "docs" / page).read_text(), re.MULTILINE)
    return set(re.findall(r"`(\w+)`", found))


def test_every_documented_workload_is_run_for_real():
    assert documented("use/add-a-paper.md", r"^\| `workload` \| (.*) \|$") <= RUN
    assert set(WORKLOADS) == RUN


def test_every_program_that_needs_no_hibench_is_run_for_real():
    assert documented("use/hibench.md", r"^`program` is (.*);") == PROGRAMS == set(hibench.MICRO)


@pytest.mark.parametrize("name", PAPERS)
def test_every_experiment_is_run_for_real(name):
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path(name), fabric_names(testbed))
    chosen = one_of_each(paper, testbed)
    # Transports that are compared need RDMA, which this testbed has not.
    possible = [each for each, spec in paper.experiments.items() if "transport" not in spec["factors"]]
    assert sorted(row["experiment"] for rows in chosen.values() for row in rows) == sorted(possible)
    assert {row["block"] for rows in chosen.values() for row in rows} == {f"{effort}-1" for effort in chosen}
