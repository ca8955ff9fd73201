"""Setting and reading back the drive models on a testbed's hosts."""

from __future__ import annotations

from whitewire.design.drive import ACCOUNT, STATE, Drive, read_state
from whitewire.testbed.base import Host


def folders(drive: Drive, host: Host) -> list[str]:
    """The folders of the host's drives, one per drive."""
    return [host.drive(number) for number in range(1, drive.count + 1)]


def put_drives(drive: Drive, host: Host, at_ease: bool = False, epoch: int = 0) -> None:
    """Give a host these drives from now on; `at_ease` drives delay nothing, as if there were no model.

    Call it before a program with Drive.environment() starts there. Requests that already wait in a queue keep their
    times. A new `epoch` empties the modelled page cache: no dirty pages, and no data to read from it.
    """
    model = drive.state(at_ease, epoch)
    # One write for programs that are running: it skips the word that says whether there is a queue.
    into = f"bs={len(model)} count=1 iflag=fullblock oflag=seek_bytes seek=8 conv=notrunc status=none"
    script = f'mkdir -p "$0" && dd of="$0/.queue" {into}'
    host.run(["sh", "-c", script, host.drive_root], stdin=model).check()


def read_back(host: Host) -> dict[str, float]:
    """The model's current state on a host, and `count`, the number of its drives' folders."""
    size = STATE.size + ACCOUNT.size
    state = host.run(["dd", f"if={host.drive_root}/.queue", "bs=1", "skip=8", f"count={size}",
                      "status=none"]).check().stdout.ljust(size, b"\0")  # fmt: skip
    find = ["find", host.drive_root, "-maxdepth", "1", "-name", "[0-9]*"]  # none on a client
    found = host.run(find).check().stdout.split()
    return {"count": len(found), **read_state(state)}
