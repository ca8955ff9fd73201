"""The inverse question: a measured curve read backwards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.inverse import needed

RATES = np.array([5.0, 10.0, 20.0, 40.0])


def test_between_two_points_it_is_read_off_the_line():
    # 1 at the base, 0.5 at twice the rate: 0.75 lies half-way over the logarithm of the rate.
    assert needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 0.75) == pytest.approx(2**0.5)
    assert needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 0.25) == pytest.approx(4)
    assert needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 2.0) == pytest.approx(0.5)


def test_what_no_rate_gives_is_no_number():
    assert np.isnan(needed(RATES, np.array([2.0, 1.0, 0.9, 0.88]), 1, 0.5))


def test_of_two_crossings_the_nearest_counts():
    wavy = np.array([0.6, 1.0, 0.6, 0.6])
    assert needed(np.array([1.0, 10.0, 20.0, 40.0]), wavy, 1, 0.8) == pytest.approx(2**0.5)


@given(st.floats(0.3, 3), st.floats(0.05, 0.95))
def test_a_power_law_gives_back_its_own_ratio_within_the_grid(slope, part):
    rates = np.geomspace(1, 64, 60)
    values = rates**-slope
    ratio = 64**part
    assert needed(rates, values, 0, ratio**-slope) == pytest.approx(ratio, rel=0.02)
