"""Lines of tc(8) for a shaper whose senders take turns."""

from whitewire.testbed.emulated import turns

SENDERS = [[], ["ip src 10.0.0.1", "ip dst 10.0.0.1"], ["ether src 02:00:00:00:00:02"]]


def lines(command):
    return turns.shaper("wire", SENDERS, 8e6, (12500, 1600), 1514, 65536, command)


def test_every_sender_has_a_class_and_a_queue_and_all_matches_lead_to_it():
    made = lines("add")
    assert made[0] == "qdisc add dev wire root handle 1: htb default 1"
    assert made[1] == "class add dev wire parent 1: classid 1:fffe htb rate 8000000bit ceil 8000000bit " \
        "burst 12500 cburst 12500"  # fmt: skip
    assert made[2] == "class add dev wire parent 1:fffe classid 1:1 htb rate 8000bit ceil 8000000bit quantum 1514 " \
        "burst 1600 cburst 1600"  # fmt: skip
    assert [line.rpartition(" parent ")[2] for line in made if " bfifo " in line] == [
        f"1:{number} handle 10{number}: bfifo limit 65536" for number in (1, 2, 3)
    ]
    assert [line.partition(" match ")[2] for line in made if line.startswith("filter")] == [
        "ip src 10.0.0.1 flowid 1:2", "ip dst 10.0.0.1 flowid 1:2", "ether src 02:00:00:00:00:02 flowid 1:3"
    ]  # fmt: skip


def test_a_change_only_sets_what_is_there():
    assert all(line.startswith(("class change", "qdisc change")) for line in lines("change"))
    assert len(lines("change")) == 1 + 2 * len(SENDERS)


def test_a_slow_shaper_promises_each_sender_at_least_a_byte_a_second():
    assert " rate 8bit ceil 100bit " in turns.shaper("wire", SENDERS, 100, (1, 1), 1514, 1, "add")[2]
