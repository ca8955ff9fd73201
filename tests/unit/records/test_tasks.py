"""Tasks at once and in waves, and what coded files cross; with known answers."""

import json
from pathlib import Path

import pytest

from whitewire.records import jobs
from whitewire.tools import Unreadable, codecs, namenode
from whitewire.tools.codecs import codec_settings
from whitewire.tools.history import setting_text, settings_of_answer

DATA = Path(__file__).parents[2] / "data"
SETTINGS = json.loads((DATA / "job-settings.json").read_text())
JMX = (DATA / "datanode-jmx.json").read_text()


def spans(*of_hosts):
    return [{"host": host, "type": "MAP", "start": start, "end": end}
            for host, own in zip("abc", of_hosts, strict=False) for start, end in own]  # fmt: skip


@pytest.mark.parametrize(("tasks", "at_once", "waves"), [
    (spans([(0, 2), (2, 4)], [(0, 3)]), 1, 2),  # one begins as another ends
    (spans([(0, 2), (1, 3), (2, 4)]), 2, 2),
    (spans([(0, 9), (1, 2), (2, 3), (3, 4)]), 2, 3),  # a long one beside three short ones
    (spans([(0, 1)], [(0, 1)], [(0, 1)]), 1, 1),
    ([], 0, 0),
])  # fmt: skip
def test_tasks_at_once_and_waves(tasks, at_once, waves):
    assert (jobs.at_once(tasks), jobs.waves(tasks)) == (at_once, waves)


def crossing(coding):
    counters = {"HDFS_BYTES_READ": 3_000_000, "HDFS_BYTES_WRITTEN": 3_000_000}
    record = {"mounted": False, "output_replication": 3, **({"coding": coding} if coding else {})}
    return jobs.crossing_bytes(record, {"tasks": [], "counters": counters | {"DATA_LOCAL_MAPS": 1}})[1:]


def test_a_coded_block_group_crosses_the_links_but_for_one_block_at_most():
    # Read: two of three blocks at least. Written: five blocks of a third each, of which one may stay.
    assert crossing("RS-3-2-8k") == pytest.approx((2e6 + 4e6, 3e6 + 5e6))
    assert crossing("")[0] == pytest.approx(6e6)


def test_settings_of_a_real_job():
    """The server makes numbers and truth values of them."""
    names = {codecs.COMPRESS, codecs.CODEC, "dfs.blocksize", "mapreduce.job.reduce.slowstart.completedmaps", "none"}
    found = settings_of_answer(SETTINGS, names)
    assert found == {
        codecs.COMPRESS: "true", codecs.CODEC: "org.apache.hadoop.io.compress.BZip2Codec", "dfs.blocksize": "1219072",
        "mapreduce.job.reduce.slowstart.completedmaps": "0.05",
    }  # fmt: skip
    assert codecs.word_of(found) == "bzip2"
    with pytest.raises(Unreadable, match="expected a job's configuration"):
        settings_of_answer({"conf": {}}, names)


@pytest.mark.parametrize("word", codecs.WORDS)
def test_what_a_word_sets_is_read_back_as_the_word(word):
    settings = {name: setting_text(value) for name, value in codec_settings(word).items()}
    assert codecs.word_of(settings) == word


def test_a_codec_without_a_word_is_reported_by_its_class():
    settings = {codecs.COMPRESS: "true", codecs.CODEC: "org.apache.hadoop.io.compress.Lz4Codec"}
    assert codecs.word_of(settings) == "org.apache.hadoop.io.compress.Lz4Codec"


def test_packets_of_a_real_datanode():
    assert namenode.packets(JMX) == 256
    for text in ("", "{}", '{"beans": []}', JMX[:200]):
        with pytest.raises(Unreadable, match="expected its activity with PacketsReceived"):
            namenode.packets(text)
