"""NNBench's result, on what it really printed."""

from pathlib import Path

import pytest

from whitewire.tools import Unreadable
from whitewire.tools.nnbench import nnbench_result

DATA = Path(__file__).parents[2] / "data" / "nnbench"


@pytest.mark.parametrize(("operation", "tps", "latency"), [
    ("create_write", 577, 5.88), ("open_read", 852, 2.3966666666666665), ("rename", 571, 3.58),
])  # fmt: skip
def test_it_says_as_much_as_nnbench_rounds(operation, tps, latency):
    found = nnbench_result((DATA / f"{operation}.txt").read_text())
    assert (found.operation, found.maps, found.operations, found.late, found.exceptions) == (operation, 3, 300, 0, 0)
    assert int(found.per_second) == tps
    assert found.first / found.operations == pytest.approx(latency)


def test_closes_have_a_latency_of_their_own():
    found = nnbench_result((DATA / "create_write.txt").read_text())
    assert found.second / found.operations == pytest.approx(3.546666666666667)


def test_calls_that_failed_are_reported():
    """NNBench ends well: it had renamed the files that it was to delete."""
    found = nnbench_result((DATA / "delete-of-no-files.txt").read_text())
    assert (found.operations, found.exceptions) == (0, 3000)


@pytest.mark.parametrize(("old", "new", "says"), [
    ("NNBench -------------- :", "", "found no result"),
    ("Successful file operations: 300", "", "found no operations"),
    ("Longest Map Time (ms): 352.0", "Longest Map Time (ms): NaN", "longest: found 'NaN', expected a number"),
    ("Test Operation: open_read", "Test Operation: list", "operation: found 'list', expected one of create_write"),
])  # fmt: skip
def test_what_it_does_not_say_is_an_error(old, new, says):
    text = (DATA / "open_read.txt").read_text()
    head, _, result = text.rpartition("-------------- NNBench")
    assert old in head + "-------------- NNBench" + result
    with pytest.raises(Unreadable, match=says.replace("(", r"\(")):
        nnbench_result((head + "-------------- NNBench" + result).replace(old, new))
