"""Levels in words."""

import pytest

from whitewire.levels import cell_name, level_in_words


@pytest.mark.parametrize(("size", "words"), [
    (1.0e12, "1 TB"), (1.5e12, "1.5 TB"), (7.8e9, "7.8 GB"), (67108864, "64 MiB"), (5242880000, "5000 MiB"),
    (8192, "8 KiB"), (123456789, "123456789"), (512, "512"), ("", ""),
])  # fmt: skip
def test_sizes_have_the_shortest_unit_that_is_exact(size, words):
    assert level_in_words("size_bytes", size) == words


def test_only_sizes_have_one():
    assert cell_name("e", {"fabric": "10gbe", "size_bytes": 1.0e12, "mtu": 9000}) == "e 10gbe 1 TB 9000"
