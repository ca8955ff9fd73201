"""Several connections at once into one slow port, as a shuffle opens them: next to nothing is sent again."""

from __future__ import annotations

import time
from pathlib import Path

from whitewire.description.testbed import load_testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

SENDERS = 4
SENT_BYTES = 300_000  # by each sender: long enough for a slow start to overrun a port's buffer
SEGMENT = 1448


def test_connections_at_once_lose_little(tmp_path: Path) -> None:
    with EmulatedTestbed(
        load_testbed("emulated"), {"client": 1, "datanode": SENDERS}, 1000, software.binds()
    ) as testbed:
        testbed.fabric("100gbe")
        receiver = testbed.by_role("client")[0]
        # They listen before the link slows down, as daemons do.
        for number in range(SENDERS):
            receiver.start(["iperf3", "-s", "-p", str(5201 + number)], tmp_path / f"{number}.log")
        deadline = time.monotonic() + 10
        while receiver.run(["ss", "-ltnH"]).check().stdout.count(b":52") < SENDERS:
            assert time.monotonic() < deadline, "the receivers do not listen"
        limit = testbed.config["limits"]["retransmit_share"]
        for fabric in ("10gbe", "1gbe"):
            testbed.fabric(fabric)
            before = sum(testbed.tcp_retransmits().values())
            started = [
                sender.start(
                    ["iperf3", "-c", receiver.name, "-p", str(5201 + number), "-n", str(SENT_BYTES)],
                    tmp_path / f"{sender.name}.log",
                )
                for number, sender in enumerate(testbed.by_role("datanode"))
            ]
            assert [process.popen.wait(timeout=60) for process in started] == [0] * SENDERS
            again = sum(testbed.tcp_retransmits().values()) - before
            assert again / (SENDERS * SENT_BYTES / SEGMENT) < limit, fabric
