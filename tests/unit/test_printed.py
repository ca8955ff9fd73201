"""Numbers, amounts and factors as texts print them: the right value, or one line that names what may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from whitewire import printed, quantities
from whitewire.printed import RATE, TIME, Unread
from whitewire.workflow import new_paper

CASES = Path(__file__).resolve().parents[1] / "data" / "cases"

AMOUNTS = {
    "118\u00a0MiB/s": (118, "MiB/s"), "1\u202f500 MB/s": (1500, "MB/s"), "1,500.5 MB": (1500.5, "MB"),
    "1,674 MBps": (1674, "MB/s"), ".5 GB": (0.5, "GB"), "½ GB": (0.5, "GB"), "2½ GB": (2.5, "GB"),
    "12 µs": (12, "us"), "12 μs": (12, "us"), "5\u2009µs": (5, "us"), "５ ＧＢ": (5, "GB"), "5 ㎆": (5, "MB"),
    "−5 s": (-5, "s"), "–5 s": (-5, "s"), "10 MB∕s": (10, "MB/s"), "6×": (6, "x"), "6X": (6, "x"),
    "1.2 million IOPS": (1.2e6, "IOPS"), "1.2×10⁶ IOPS": (1.2e6, "IOPS"), "1.2 x 10^6 B": (1.2e6, "B"),
    "10⁶ B": (1e6, "B"), "~80 MB/s": (80, "MB/s"), "≈80MB/s": (80, "MB/s"), "approximately 800MBps": (800, "MB/s"),
    "131.756 KB/sec": (131.756, "kB/s"), "36GBps": (36, "GB/s"), "940 Mbits/sec": (940, "Mbit/s"),
    "1.10 GBytes": (1.1, "GB"), "100 kbps": (100, "kbit/s"), "10 Gb/s": (10, "Gbit/s"), "50 per cent": (0.5, "1"),
    "50 MB per second": (50, "MB/s"), "2 hrs": (2, "h"), "5 mW": (0.005, "W"), "3.70GHz": (3.7, "GHz"),
}  # fmt: skip
UNSURE = {
    "1,5 GB/s": "expected 1.5 GB/s or 1,500 GB/s: a comma groups three digits",
    "0,5 fraction": "expected 0.5 fraction: a comma groups three digits",
    "1,5 Go/s": "expected 1.5 Go/s or 1,500 Go/s",
    "1,,000 MB": "a decimal point (1.5 MB), or with commas before three digits (1,500 MB)",
    "1,00,000 B": "a decimal point (1.5 B), or with commas",
    "1, MB/s": "a decimal point (1.5 MB/s), or with commas",
    "0,500 GB": "expected 0.500 GB: a comma groups three digits",
    "1234,567 MB": "a comma groups three digits",
    "1.500.000 B": "a decimal point (1.5 B)",
    "1 500 MB/s": "a decimal point (1.5 MB/s)",
    "1'500 MB": "a decimal point (1.5 MB)",
    "1/2 GB": "a decimal point (1.5 GB)",
    "100–200 MB/s": "a test takes a range as `lower` and `upper`",
    "100 to 200 MB/s": "a test takes a range as `lower` and `upper`",
    "81.1 mb/sec": '"mb" is a millibit; did you mean MB or Mb?',
    "81.1mb/sec": '"mb" is a millibit; did you mean MB or Mb?',
    "100 mbps": "did you mean MBps or Mbps?",
    "100 mB/s": "did you mean MB?",
    "5 Gb": "expected GB or Gbit",
    "64kb": 'expected kB or kbit: "kb" is written for both',
    "5 kb/sec": 'expected kB or kbit: "kb" is written for both',
    "118 МB/s": 'found "М" (Cyrillic capital letter em) in "МB/s"',
    "118 ΜB/s": 'found "Μ" (Greek capital letter mu) in "ΜB/s"',
    "118МB/s": "expected one number with its unit",
    "12¹ MB": "expected one number with its unit",
    "1.2 x 106 B": "expected a unit such as MB/s",
    "750K IOPS": "expected one number with its unit",
    "40 GbE": 'did you mean "Gbit/s"?',
    "10 gbps": 'did you mean "Gbit/s"?',
    "50 % faster": 'found "% faster"',
}
TEXTS = ("2x40/4x10", "3.2.x", "2.x", "7.1.1", "small", "1,2,4", "scheduler", "up to 80 MB/s", "40GbE")
"""Values that are no numbers, and stay text."""


@pytest.mark.parametrize("text", AMOUNTS)
def test_an_amount_is_read(text):
    value, unit = AMOUNTS[text]
    assert quantities.converted(text, unit) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("text", UNSURE)
def test_what_is_no_sure_amount_is_refused(text):
    with pytest.raises(Unread) as error:
        value, unit = quantities.amount(text) or pytest.fail("read as text")
        quantities.one(unit)
    assert UNSURE[text] in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_text(text):
    assert quantities.amount(text) is None


@pytest.mark.parametrize("text", (CASES / "decimal-comma-amount" / "input.txt").read_text().splitlines())
def test_a_comma_is_never_left_out_of_a_number(text):
    with pytest.raises(Unread, match="comma"):
        quantities.amount(text)


def test_a_millibit_is_not_read_from_a_paper():
    (value,) = yaml.safe_load((CASES / "lower-case-mb" / "input.yaml").read_text())
    with pytest.raises(Unread, match="did you mean MB or Mb"):
        quantities.converted(value["value"], value["unit"])
    with pytest.raises(Unread, match="did you mean MB or Mb"):
        quantities.one("mb/sec")


VENDORS = {
    "60%": (["1.6 times", "0.6 times", "0.4 times"], ["1.6 times", "0.6 times", "0.4 times"]),
    "+60%": (["1.6 times"], ["1.6 times"]),
    "50 % faster": (["1.5 times"], ["0.5 times", "0.6667 times"]),
    "1/2 the time": (None, ["0.5 times"]),
    "half the time": (None, ["0.5 times"]),
    "half of the time": (None, ["0.5 times"]),
    "halves the completion time": (None, ["0.5 times"]),
    "a third of the time": (None, ["0.3333 times"]),
    "2,5x": (["2.5 times"], ["2.5 times", "0.4 times"]),
    "2,5 times faster": (["2.5 times"], ["0.4 times"]),
    "1.000,5x": (None, None),
    "3-5x": (["3 to 5 times"], ["3 to 5 times", "0.2 to 0.3333 times"]),
    "3–5×": (["3 to 5 times"], ["3 to 5 times", "0.2 to 0.3333 times"]),
    "3x to 5x faster": (["3 to 5 times"], ["0.2 to 0.3333 times"]),
    "between 3 and 5 times faster": (["3 to 5 times"], ["0.2 to 0.3333 times"]),
    "25% to 45% faster": (["1.25 to 1.45 times"], ["0.55 to 0.75 times", "0.6897 to 0.8 times"]),
    "30%–2× faster": (["1.3 to 2 times"], None),
    "40-50 % less time": (None, ["0.5 to 0.6 times"]),
    "4X": (["4 times"], ["4 times", "0.25 times"]),
    "4X the throughput": (["4 times"], None),
    "up to 3 times": (["up to 3 times"], ["up to 3 times", "up to 0.3333 times"]),
    "up to 60 % faster": (["up to 1.6 times"], ["up to 0.4 times", "up to 0.625 times"]),
    "as much as 3x faster": (["up to 3 times"], ["up to 0.3333 times"]),
    "up to 3-5x faster": (["up to 3 to 5 times"], ["up to 0.2 to 0.3333 times"]),
    "more than 2.5x faster": (["more than 2.5 times"], ["less than 0.4 times"]),
    "over 3x": (["more than 3 times"], ["more than 3 times", "less than 0.3333 times"]),
    "10x+": (["more than 10 times"], ["more than 10 times", "less than 0.1 times"]),
    "10x or more": (["more than 10 times"], ["more than 10 times", "less than 0.1 times"]),
    "less than 60 % of the time": (None, ["less than 0.6 times"]),
    "at least 40 % less time": (None, ["less than 0.6 times"]),
    "nearly 2x faster": (["2 times"], ["0.5 times"]),
    "~1.48x faster": (["1.48 times"], ["0.6757 times"]),
    "twice as fast": (["2 times"], ["0.5 times"]),
    "twice the throughput": (["2 times"], None),
    "Double the bandwidth": (["2 times"], None),
    "doubles throughput": (["2 times"], None),
    "six times as fast": (["6 times"], ["0.1667 times"]),
    "sixfold": (["6 times"], ["6 times", "0.1667 times"]),
    "faster by 50 %": (["1.5 times"], ["0.5 times", "0.6667 times"]),
    "faster by a factor of 3": (["3 times"], ["0.3333 times"]),
    "a gain of up to 60 %": (["up to 1.6 times"], ["up to 0.4 times", "up to 0.625 times"]),
    "reduces execution time by 40%": (None, ["0.6 times"]),
    "improves throughput by 60%": (["1.6 times"], None),
    "improves completion time by 60%": (None, ["0.4 times", "0.625 times"]),
    "improves by 60%": (["1.6 times"], ["0.4 times", "0.625 times"]),
    "a factor of four": (["4 times"], ["4 times", "0.25 times"]),
    "by a factor of 4": (["4 times"], ["4 times", "0.25 times"]),
    "reduces the run time by a factor of four": (None, ["0.25 times"]),
    "by 60 %": (["1.6 times", "0.6 times", "0.4 times"], ["1.6 times", "0.6 times", "0.4 times"]),
    "by half": (None, None),
    "in half the time": (None, ["0.5 times"]),
    "half": (["0.5 times"], ["0.5 times", "2 times"]),
    "twice": (["2 times"], ["2 times", "0.5 times"]),
    "40% less": (["0.6 times"], ["0.6 times"]),
    "4x to 5x": (["4 to 5 times"], ["4 to 5 times", "0.2 to 0.25 times"]),
    "5 to 1": (None, None),
    "5-3x": (None, None),
    "40% reduction": (["0.6 times", "1.667 times"], ["0.6 times"]),
    "0.5x faster": (["0.5 times", "1.5 times"], ["0.5 times", "0.6667 times"]),
    "100x": (["100 times"], ["100 times", "0.01 times"]),
    "6": (["6 times"], ["6 times", "0.1667 times"]),
    "3.2X gain": (["3.2 times"], ["0.3125 times"]),
    "6 times faster than 1GbE": (["6 times"], ["0.1667 times"]),
    "2-fold": (["2 times"], ["2 times", "0.5 times"]),
    "3x slower": (["0.3333 times"], ["3 times"]),
    "100x lower": (["0.01 times"], ["0.01 times"]),
    "1/3 slower": (["0.6667 times", "0.75 times"], ["1.333 times"]),
    "50% slower": (["0.5 times", "0.6667 times"], ["1.5 times"]),
    "200 % faster": (["3 times", "2 times"], ["0.3333 times", "0.5 times"]),
    "−40%": (["0.6 times"], ["0.6 times"]),
    "-40% latency": (None, ["0.6 times"]),
    "60% higher throughput": (["1.6 times"], None),
    "89.8% reduction in execution time": (None, ["0.102 times"]),
    "23% less execution time than the current bytecode": (None, ["0.77 times"]),
    "60 % of the time": (None, ["0.6 times"]),
    "fast": (None, None),
    "6х": (None, None),
    "6x²": (None, None),
    "6xx": (None, None),
    "-2x": (None, None),
    "12 µs": (None, None),
    "100% less time": (None, None),
    "1/0 the time": (None, None),
    "": (None, None),
}
"""What vendors print, and its readings as ratios of throughput and of time; None: none."""


@pytest.mark.parametrize("text", VENDORS)
def test_what_vendors_print_is_read_with_every_reading(text):
    for metric, right in zip((RATE, TIME), VENDORS[text], strict=True):
        if right is None:
            with pytest.raises(Unread) as error:
                printed.ratios(text, metric)
            assert "found" in str(error.value) and "expected" in str(error.value)
        else:
            assert list(map(str, printed.ratios(text, metric))) == right


QUOTES = yaml.safe_load((CASES / "vendor-quotes" / "input.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("metric", (RATE, TIME))
@pytest.mark.parametrize("case", QUOTES, ids=lambda case: case["printed"])
def test_a_number_copied_from_a_vendors_sentence_is_read(case, metric):
    assert case["printed"] in case["quote"]
    if not case[metric]:
        with pytest.raises(Unread):
            printed.ratios(case["printed"], metric)
    else:
        assert list(map(str, printed.ratios(case["printed"], metric))) == case[metric]


def test_answers_of_new_paper_are_read_or_refused():
    claims = yaml.safe_load((CASES / "new-paper-printed" / "input.yaml").read_text())["claims"]
    readings = []
    for claim in claims:
        try:
            readings.append(new_paper._reading({"metric": RATE} | claim))
        except ValueError as error:
            readings.append(str(error))
    assert readings == [
        '"50 % faster" reads as 1.5 times',
        '"1/2 the time" reads as 0.5 times',
        '"2,5x" reads as 2.5 times',
        '"3-5x" reads as 3 to 5 times',
        'found "2,5 GB/s", expected 2.5 GB/s or 2,500 GB/s: a comma groups three digits',
    ]


# --- properties -------------------------------------------------------------------------------------

UNITS = ("MB/s", "MiB/s", "Gbit/s", "GB", "ms", "µs", "h", "IOPS", "x", "percent", "USD")
SPACES = (" ", "\u00a0", "\u2009", "\u202f")
NUMBERS = st.decimals(min_value="0.001", max_value=10**9, places=3).map(float)


@given(NUMBERS, st.sampled_from(UNITS), st.sampled_from(SPACES), st.sampled_from(("", "−", "-")), st.booleans())
def test_a_number_that_is_printed_is_read_back(value, unit, space, sign, grouped):
    text = f"{sign}{value:,.3f}{space}{unit}" if grouped else f"{sign}{value:.3f}{space}{unit}"
    assert quantities.amount(text) == (-value if sign else value, unit)


@given(NUMBERS, st.sampled_from(UNITS), st.sampled_from(SPACES))
def test_a_number_in_the_german_way_is_never_another(value, unit, space):
    text = f"{value:,.3f}".translate(str.maketrans(",.", ".,")) + space + unit
    try:
        found = quantities.amount(text)
    except Unread:
        return
    # The one form that both ways share: 12,345.
    assert 1 <= value < 1000 and found == (pytest.approx(value * 1000), unit)


@given(st.integers(1, 99), st.integers(0, 99), st.sampled_from(("{},{} GB/s", "{}–{} MB/s")))
def test_commas_and_ranges_are_never_one_number(first, second, form):
    with pytest.raises(Unread):
        quantities.amount(form.format(first, second))


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text):
    for read in (quantities.amount, printed.ratios):
        try:
            read(text)
        except Unread as error:
            assert "\n" not in str(error)
