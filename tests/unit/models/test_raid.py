"""Redundancy by copies and parity against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from whitewire.models import raid


def test_storage_and_losses_by_hand():
    assert raid.storage_factor(3, 1, 0) == 3
    assert raid.storage_factor(1, 5, 2) == pytest.approx(1.4)
    assert raid.storage_factor(1, 12, 2, 1) == pytest.approx(1.25)
    # Two copies of ten blocks and one parity block: 22 blocks for 10.
    assert raid.storage_factor(2, 10, 1) == pytest.approx(2.2)
    assert raid.usable(180, 1.4) == pytest.approx(128.57, abs=0.005)
    assert raid.tolerated_losses(3, 0) == 2
    assert raid.tolerated_losses(1, 2) == 2
    # Both copies of two blocks of a group must go, so three losses are borne.
    assert raid.tolerated_losses(2, 1) == 3
    for bad in (lambda: raid.storage_factor(0, 1, 0), lambda: raid.usable(1, 0.5), lambda: raid.tolerated_losses(0, 0)):
        with pytest.raises(ValueError):
            bad()


def test_fatal_sets_by_hand():
    # One group of 5 + 2 on its 7 drives: any three of them; all 35 triples are drawn, of 35 that exist.
    assert raid.fatal_sets(7, 1, 1, 5, 2) == pytest.approx(35 * (1 - (34 / 35) ** 35))
    # Very many blocks on five drives make every triple fatal, one block makes one.
    assert raid.fatal_sets(5, 1e6, 3, 1, 0) == pytest.approx(10)
    assert raid.fatal_sets(100, 1, 3, 1, 0) == pytest.approx(1)
    assert raid.fatal_sets(3, 7, 3, 1, 0) == 1
    with pytest.raises(ValueError):
        raid.fatal_sets(6, 1, 1, 5, 2)


def test_time_to_loss_by_hand():
    # A mirrored pair: either drive fails (2/MTTF), the other is down with R/MTTF: MTTF^2 / (2 R).
    assert raid.time_to_loss(2, 1, 2, 1, 0, 1000, 10) == pytest.approx(1000**2 / (2 * 10))
    # Three copies on three drives: MTTF^3 / (3 R^2).
    assert raid.time_to_loss(3, 1, 3, 1, 0, 1000, 10) == pytest.approx(1000**3 / (3 * 10**2))
    with pytest.raises(ValueError):
        raid.time_to_loss(3, 1, 3, 1, 0, 10, 10)


def test_the_formula_is_chen_s_but_for_the_order_of_repairs():
    drives, group, mttf, repair = 7000, 7, 3e5, 8
    chen = mttf**3 / (drives * (group - 1) * (group - 2) * repair**2)
    found = raid.time_to_loss(drives, drives / group, 1, 5, 2, mttf, repair)
    assert found / chen == pytest.approx(math.factorial(2), rel=1e-3)


def test_a_ratio_of_schemes_by_hand():
    # Equal repairs; 1 pair of copies on 2 drives against 3 copies on 3: (M^2 / 2R) / (M^3 / 3R^2) = 3R / 2M.
    assert raid.loss_time_ratio(2, 1, 2, 1, 0, 10, 3, 1, 3, 10, 1000) == pytest.approx(0.015)
    # Three copies in both, twice as slow a repair: a quarter.
    assert raid.loss_time_ratio(9, 50, 3, 1, 0, 20, 9, 50, 3, 10, 1000) == pytest.approx(0.25)
