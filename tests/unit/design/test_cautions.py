"""Where a factor meets an assumption of the drive model, or what k does not divide."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.unit.design.test_treatments import PUTTING, TEMPLATE, read
from whitewire.design.cautions import cautions_of_experiment, cautions_of_test

DRIVE = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))["experiments"][0]["hardware"]


def hardware(cache):
    found = copy.deepcopy(DRIVE)
    found["drive"]["cache_bytes"] = cache
    return found


@pytest.mark.parametrize(("cache", "number"), [(2**26, 1), (2**24, 0), (2**29, 0)])
def test_a_cache_between_blocks_of_two_sizes_is_reported(tmp_path, cache, number):
    factors = {"block_size_bytes": [67108864, 268435456]}
    found = cautions_of_experiment(read(tmp_path, factors, PUTTING, hardware=hardware(cache)), "varied")
    assert len(found) == number
    expected = "blocks of 64 MiB fit a drive's cache (64 MiB) whole, those of 256 MiB do not"
    assert all(words.startswith(expected) for words in found)


def test_buffers_are_reported_as_what_they_would_be_at_full_scale(tmp_path):
    paper = read(tmp_path, {"switch_buffer_kib": [64, 256]}, PUTTING)
    assert cautions_of_experiment(paper, "varied") == [
        "ports' buffers are not divided by k: 64 KiB last as long here as 1.88 MiB at full scale"
    ]


def test_a_test_has_those_of_the_factors_that_it_varies(tmp_path):
    paper = read(tmp_path, {"switch_buffer_kib": [64, 256], "fabric": ["1gbe", "10gbe"]}, PUTTING)

    def of(*sides):
        names = ("numerator", "denominator")
        cells = {name: {"experiment": "varied", "where": where} for name, where in zip(names, sides, strict=True)}
        test = {"estimand": "ratio", "metric": "throughput", "relation": "above", "expected": 1, **cells}
        return len(cautions_of_test(paper, test))

    assert of({"switch_buffer_kib": 64, "fabric": "1gbe"}, {"switch_buffer_kib": 64, "fabric": "10gbe"}) == 0
    assert of({"switch_buffer_kib": 64, "fabric": "1gbe"}, {"switch_buffer_kib": 256, "fabric": "1gbe"}) == 1
