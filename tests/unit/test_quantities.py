"""Units of what papers print: one conversion, and names that are near a misspelt one."""

from __future__ import annotations

import pytest

from whitewire import quantities


@pytest.mark.parametrize(
    ("text", "to", "value"),
    [
        ("118 MiB/s", "MB/s", 118 * 2**20 / 1e6),
        ("0.95 Gbit/s", "MB/s", 118.75),
        ("10 Gbps", "MB/s", 1250),
        ("200 MBps", "MB/s", 200),
        ("100 MB/sec", "MB/s", 100),
        ("64 MiB", "B", 67108864),
        ("64MiB", "B", 67108864),
        ("1 TB", "B", 10**12),
        ("5 GB", "B", 5 * 10**9),
        ("1,200 MB", "GB", 1.2),
        ("1.5 h", "s", 5400),
        ("30 %", "1", 0.3),
        ("12.3 ms", "s", 0.0123),
    ],
)
def test_an_amount_is_converted(text, to, value):
    assert quantities.converted(text, to) == pytest.approx(value, rel=1e-12)


def test_whole_numbers_stay_whole():
    assert isinstance(quantities.converted("64 MiB", "B"), int)


@pytest.mark.parametrize("text", ["2x40/4x10", "3.2.x", "7.1.1", "small", "scheduler"])
def test_text_is_no_amount(text):
    assert quantities.amount(text) is None


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("MiB/sek", 'found "MiB/sek", expected a unit such as MB/s; did you mean "MiB/s"?'),
        ("Gigabits", None),
        ("furlong", 'found "furlong", expected a unit such as MB/s'),
        ("MB**9**9**9", 'found "MB**9**9**9", expected a unit such as MB/s'),
    ],
)
def test_an_unknown_unit_is_reported_with_the_nearest(unit, said):
    if said is None:
        assert quantities.factor(unit.lower(), "MB") == pytest.approx(125)
        return
    with pytest.raises(quantities.UnknownUnit) as error:
        quantities.one(unit)
    assert str(error.value).startswith(said)


def test_unlike_units_are_reported_by_what_they_measure():
    with pytest.raises(quantities.UnknownUnit, match=r"expected a rate \(MB/s\), found a time \(s\)"):
        quantities.factor("s", "MB/s")
    with pytest.raises(quantities.UnknownUnit, match=r"expected a plain number \(1\), found a size \(GB\)"):
        quantities.factor("GB", "1")


def test_a_paper_has_units_of_its_own():
    own = {"DVD": "4.7 GB", "driver packages": "count"}
    assert quantities.converted("2 DVD", "GB", own) == 9.4
    assert quantities.factor("driver packages (about)", "1", own) == 1
