"""Time of a write into memory in front of drives."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import account
from whitewire.models import page_cache


def test_three_parts_of_a_write():
    # 40 MB at 100 MB/s, then 60 MB more of which drives take a fifth as it comes, then the drives' 20 MB/s.
    assert page_cache.taken_at_once(100, 20, 40, 88) == pytest.approx(100)
    assert page_cache.write_time(40, 100, 20, 40, 88) == pytest.approx(0.4)
    assert page_cache.write_time(100, 100, 20, 40, 88) == pytest.approx(1.0)
    assert page_cache.write_time(140, 100, 20, 40, 88) == pytest.approx(3.0)


def test_a_writer_slower_than_the_drives_never_waits():
    assert page_cache.write_time(1000, 10, 20, 0, 0) == 100


def test_without_memory_it_is_the_drives_time():
    assert page_cache.write_time(100, 1000, 20, 0, 0) == pytest.approx(5)


@pytest.mark.parametrize("wrong", [(-1, 1, 1, 0, 0), (1, 0, 1, 0, 0), (1, 1, 0, 0, 0), (1, 1, 1, 2, 1)])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="above 0"):
        page_cache.write_time(*wrong)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    return account.library(tmp_path_factory.mktemp("account"))


@given(
    size=st.floats(1, 100), rate=st.floats(2, 500), limit=st.floats(0.5, 60), share=st.floats(0, 1),
)  # fmt: skip
def test_the_account_takes_that_time(library, size, rate, limit, share):
    """A drive of 1 MB/s, and a writer that comes with a tenth of a megabyte whenever its own rate allows."""
    node = account.Node(library, 1e6, memory=1e9, background=share * limit * 1e6, limit=limit * 1e6)
    calls = max(1, round(size / 0.1))
    for number in range(calls):
        due = (number + 1) * 0.1 / rate
        node.wait(max(0.0, due - node.now))
        node.write(1, 1e5)
    expected = page_cache.write_time(calls * 0.1, rate, 1, share * limit, limit)
    assert node.now == pytest.approx(expected, rel=0.01, abs=0.2)
