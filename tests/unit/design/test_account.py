"""The account of a node's memory, on a clock of its own: bytes are kept, limits too, and drives have their rate."""

from __future__ import annotations

import random
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import account
from whitewire.models.disks import shared_rate

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
RATE = 1e6


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return account.library(tmp_path_factory.mktemp("account"))


def test_writes_take_no_time_below_the_limit_and_the_drives_time_above_it(library):
    node = account.Node(library, RATE, limit=5e6, background=2e6)
    for _ in range(5):
        assert node.write(1, 1e6)
    assert node.now == 0.0
    for _ in range(20):
        node.write(1, 1e6)
    assert node.now == pytest.approx(20.0, rel=1e-3)
    assert node.sums.dirty == pytest.approx(5e6)


def test_below_the_background_limit_nothing_is_written_back(library):
    node = account.Node(library, RATE, limit=5e6, background=2e6)
    node.write(1, 2e6)
    node.wait(100)
    assert node.sums.gone == 0
    node.write(1, 2e6)
    node.wait(1)
    assert node.sums.gone == pytest.approx(1e6)
    node.wait(100)
    assert node.sums.dirty == pytest.approx(2e6)


def test_drives_write_back_side_by_side(library):
    node = account.Node(library, RATE, limit=6e6, background=0)
    for file in (1, 2, 3):
        node.write(file, 2e6, drive=file)
    node.wait(1)
    assert node.sums.gone == pytest.approx(3e6)


def test_drives_for_intermediate_data_have_their_own_rate(library):
    node = account.Node(library, RATE, limit=40e6, background=0)
    node.write(1, 8e6, drive=1)
    node.write(2, 8e6, drive=account.INTERMEDIATE)
    node.wait(2)
    assert node.sums.gone == pytest.approx((1 + account.TIMES) * 2e6)


@pytest.mark.parametrize("files", [1, 2, 5])
def test_files_on_one_drive_take_turns_of_a_chunk_as_the_model_of_drives_has_it(library, files):
    node = account.Node(library, RATE, access_time=0.0127, chunk=32768, limit=40e6, background=0)
    for file in range(files):
        node.write(file + 1, 8e6)
    node.wait(0.5)  # the first turn needs its way too
    before = node.sums.gone
    node.wait(5)
    expected = shared_rate(RATE / 1e6, 12.7, 32768, files) * 5e6
    assert node.sums.gone - before == pytest.approx(expected, rel=0.02)


def test_a_small_file_beside_a_large_one_costs_no_way(library):
    """As in the model of calls that wait: only a chunk ends with an access."""
    node = account.Node(library, RATE, access_time=0.0127, chunk=32768, limit=40e6, background=0)
    node.write(1, 8e6)
    node.wait(0.5)
    before = node.sums.gone
    for _ in range(10):
        node.write(2, 100)
        node.wait(0.1)
    assert node.sums.gone - before == pytest.approx(1e6, rel=0.01)


def test_the_drives_own_cache_takes_over_at_once(library):
    node = account.Node(library, RATE, cache=1e6, limit=1e6, background=0)
    node.write(1, 2e6)
    assert node.now == pytest.approx(0.0, abs=1e-3)
    node.write(1, 1e6)
    assert node.now == pytest.approx(1.0, rel=0.01)


def test_fsync_waits_for_the_file_and_what_the_drive_has_taken_on(library):
    node = account.Node(library, RATE, limit=10e6, background=5e6)
    node.write(1, 2e6)
    node.write(2, 1e6)
    node.sync(1)
    assert node.now == pytest.approx(2.0)
    assert node.sums.dirty == pytest.approx(1e6)


def test_what_is_deleted_need_not_be_written(library):
    node = account.Node(library, RATE, limit=5e6, background=1e6)
    node.write(1, 5e6)
    node.cut(1)
    assert node.sums.dirty == 0 and node.sums.forgotten == 5e6 and node.sums.held == 0
    node.write(2, 5e6)
    assert node.now == 0.0


def test_what_is_cut_off_need_not_be_written(library):
    node = account.Node(library, RATE, limit=5e6, background=5e6)
    node.write(1, 4e6)
    node.cut(1, 1e6)
    assert node.sums.dirty == 1e6 and node.sums.forgotten == 3e6
    assert node.read(1, 0, 1e6) == 1e6


def test_what_was_written_is_read_from_memory_until_other_files_need_the_room(library):
    node = account.Node(library, RATE, memory=4e6, limit=2e6, background=1e6)
    node.write(1, 2e6)
    assert node.read(1, 0, 2e6) == 2e6
    node.sync(1)
    assert node.read(1, 0, 2e6) == 2e6  # clean, and still there
    node.write(2, 1e6)
    node.write(3, 2e6)
    assert node.read(1, 0, 2e6) == pytest.approx(1e6)  # its first megabyte had to go
    assert node.sums.held <= 4e6


def test_a_file_read_once_is_there_the_second_time_and_not_while_it_is_read_first(library):
    node = account.Node(library, RATE, memory=10e6, limit=2e6, background=1e6)
    assert [node.read(7, offset * 1e6, 1e6) for offset in range(4)] == [0, 0, 0, 0]
    assert [node.read(7, offset * 1e6, 1e6) for offset in range(5)] == [1e6, 1e6, 1e6, 1e6, 0]


def test_writing_the_same_place_again_makes_no_more_dirty(library):
    node = account.Node(library, RATE, limit=5e6, background=5e6)
    for _ in range(10):
        node.lengths[1] = 0.0
        node.write(1, 1e6)
    assert node.sums.dirty == 1e6 and node.now == 0.0


def test_a_write_apart_from_what_is_dirty_goes_past_memory(library):
    node = account.Node(library, RATE, limit=5e6, background=5e6)
    node.write(1, 1e6)
    node.lengths[1] = 3e6
    assert not node.write(1, 1e6)
    assert node.sums.dirty == 1e6


def test_more_files_than_the_account_has_places_for_let_the_clean_ones_go(library):
    node = account.Node(library, RATE, limit=5e6, background=0)
    for file in range(1, 6000):
        node.write(file, 10)
        node.wait(1e-4)
    assert node.sums.taken == pytest.approx(59990)
    assert node.sums.dirty < 100


@given(st.floats(1e3, 1e7), st.floats(0, 1e6), st.integers(1, 40), st.floats(1e2, 1e6))
def test_without_room_for_dirty_bytes_a_write_takes_what_it_took_without_memory(library, rate, cache, count, size):
    """As calls that wait have it: one returns when the drive has reached it, less what the drive's cache holds."""
    node = account.Node(library, rate, cache=cache, memory=1e9)
    free_at = now = 0.0
    for _ in range(count):
        free_at = max(free_at, now) + size / rate
        now = max(now, free_at - cache / rate)
        node.write(1, size)
        assert node.now == pytest.approx(now, abs=3e-4 + 1e-9 * now)


@pytest.mark.timeout(60)
def test_what_rounding_leaves_is_no_room_to_make(library):
    """Parts of bytes, as draining makes them: a rest too small to change a sum is not let go for ever."""
    node = account.Node(library, RATE, cache=828881.25, memory=1e6 + 1e-10, limit=1e-10)
    numbers = random.Random(1)
    for _ in range(20000):
        node.write(numbers.randint(1, 6), numbers.uniform(1, 3e6), numbers.randint(1, 3))
        assert node.sums.held <= 1e6 + 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 6), st.floats(1, 3e6)),
        st.tuples(st.just("read"), st.integers(1, 6), st.floats(1, 3e6)),
        st.tuples(st.just("cut"), st.integers(1, 6), st.sampled_from([0.0, 1e5, 1e6])),
        st.tuples(st.just("sync"), st.integers(1, 6), st.just(0.0)),
        st.tuples(st.just("wait"), st.just(0), st.floats(0, 5)),
        st.tuples(st.just("repair"), st.just(0), st.just(0.0)),
    ),
    max_size=60,
)


@pytest.mark.timeout(120)
@given(
    steps=STEPS, memory=st.floats(1e6, 2e7), limit=st.floats(0, 1), background=st.floats(0, 1),
    chunk=st.floats(1e3, 1e7), access=st.floats(0, 0.02), cache=st.floats(0, 1e6),
)  # fmt: skip
def test_bytes_are_conserved_and_never_more_is_dirty_than_the_limit(
    library, steps, memory, limit, background, chunk, access, cache
):
    node = account.Node(library, RATE, access, chunk, cache, memory, limit * background * memory, limit * memory)
    began, last = 0.0, node.sums
    for act, file, number in steps:
        drive = 1 + file % 3
        if act == "write":
            node.write(file, number, drive)
            assert node.sums.dirty <= limit * memory + 1
        elif act == "read":
            found = node.read(file, 0.0, number, drive)
            assert 0 <= found <= number
        elif act == "cut":
            node.cut(file, number)
        elif act == "sync":
            node.sync(file, drive)
        elif act == "wait":
            node.wait(number)
        else:
            node.repair()
        sums = node.sums
        assert sums.taken == pytest.approx(sums.dirty + sums.gone + sums.forgotten, abs=1)
        assert -1e-3 <= sums.dirty <= sums.held + 1e-3
        assert sums.held <= max(memory, sums.dirty) + 1
        assert sums.gone >= last.gone - 1e-6
        # Three drives at most, and what their caches took over.
        assert sums.gone <= 3 * (RATE * (node.now - began) + cache) + 1
        last = sums
