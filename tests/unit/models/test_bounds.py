"""Whatever a model is given, it has a result or says why not, and soon."""

import inspect
import itertools
import time

import pytest

from whitewire.description.claim_checks import compute
from whitewire.description.paper import Paper
from whitewire.errors import UserError
from whitewire.models import MODELS, fabric_ports

SOON_S = 5
"""Seconds of a processor, which other programs may slow down."""
VALUES = (0.0, 1.0, -1.0, 0.5, 3.0, 12.0, 1e6, 1e18, -1e18, 1e-18)


def asked(model):
    """All alike, and each argument at each value beside others that are 2."""
    names = list(inspect.signature(MODELS[model]).parameters)
    yield from (dict.fromkeys(names, value) for value in VALUES)
    for name, value in itertools.product(names, VALUES):
        yield {**dict.fromkeys(names, 2.0), name: value}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_ends_with_a_number_or_a_line(model, tmp_path):
    paper = Paper({"id": "p"}, tmp_path / "p.yaml")
    for arguments in asked(model):
        began = time.process_time()
        try:
            compute(paper, "here", model, arguments)
        except UserError as error:
            assert str(error).startswith(f"{tmp_path}/p.yaml: here: {model} ")
        assert time.process_time() - began < SOON_S, arguments


@pytest.mark.parametrize("ports", [2, 4, 24, 36])
def test_most_hosts_is_the_largest_number_that_fits(ports):
    for count in (1, 2, 3, 7, 12, 54, 100):
        known = [n for n in range(1, ports * ports // 2 + 1) if fabric_ports.switches(n, ports) <= count]
        assert fabric_ports.most_hosts(count, ports) == max(known)
