"""Arguments of TeraSort."""

from __future__ import annotations

from whitewire.workloads import terasort


def test_the_number_of_files_that_are_sorted_into_is_that_asked_for():
    arguments = terasort.sort("/rows", "/sorted", 6, {"mapreduce.job.reduces": 1, "dfs.replication": 2})
    reduces = [argument for argument in arguments if argument.startswith("-Dmapreduce.job.reduces=")]
    assert reduces == ["-Dmapreduce.job.reduces=6"]
    assert "-Ddfs.replication=2" in arguments
    assert arguments[-2:] == ["/rows", "/sorted"]
