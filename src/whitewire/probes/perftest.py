"""Command lines of perftest (bandwidth and latency of RDMA between two ports), and of what finds the ports."""

from __future__ import annotations

BANDWIDTH = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCY = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
TESTS = (*BANDWIDTH, *LATENCY)

SIZES = tuple(4**power for power in range(1, 12))
"""Message sizes in bytes: 4 B to 4 MiB, each four times the one before."""

TCP_PORT = 18515
"""perftest's own default; both ends talk over TCP before the test."""


def iterations(test: str, size: int) -> int:
    """Messages of one test: enough for its statistics, no more than a few seconds of a 10 Gbit/s link.

    Bandwidth stays below the 20,000 above which perftest leaves out the peak. Latency takes 10,000 where it can: of
    fewer than some thousand, the 99.9th percentile is the largest value.
    """
    if test in BANDWIDTH:
        return max(200, min(5000, 2**31 // size))
    return max(1000, min(10_000, 2**30 // size))


def server(test: str, size: int, count: int, tcp_port: int, device: str, port: int, gid_index: int | None = None,
           rdma_cm: bool = False) -> list[str]:  # fmt: skip
    """The end that waits. It prints nothing before it ends when its output is a file.

    `gid_index` is needed on Ethernet (RoCE), `rdma_cm` on iWARP, whose connections are made by rdma_cm only.
    Text is asked for: what release 4.5 (Debian 12) writes as JSON is none.
    """
    argv = [
        test, f"--ib-dev={device}", f"--ib-port={port}", f"--port={tcp_port}", f"--size={size}", f"--iters={count}",
        "--CPU-freq",
    ]  # fmt: skip
    if gid_index is not None:
        argv.append(f"--gid-index={gid_index}")
    if rdma_cm:
        argv.append("--rdma_cm")
    return argv


def client(address: str, test: str, size: int, count: int, tcp_port: int, device: str, port: int,
           gid_index: int | None = None, rdma_cm: bool = False) -> list[str]:  # fmt: skip
    """The end that connects to the server's `address`, measures and prints; device and GID index are its own."""
    return [*server(test, size, count, tcp_port, device, port, gid_index, rdma_cm), address]


def version() -> list[str]:
    """Prints the version, and ends with a status other than 0 all the same."""
    return [TESTS[0], "--version"]


def device_names() -> list[str]:
    """One line a device that the kernel knows; fails where it has no RDMA at all."""
    return ["ls", "/sys/class/infiniband"]


def devices() -> list[str]:
    """All devices and ports with their attributes and addresses (GIDs)."""
    return ["ibv_devinfo", "-v"]


def interfaces() -> list[str]:
    """The network interfaces with their addresses, as JSON."""
    return ["ip", "-json", "address", "show"]


def sockets() -> list[str]:
    """The TCP sockets of the host, proc_net_tcp(5); tcp6 is missing where IPv6 is off."""
    return ["cat", "/proc/net/tcp", "/proc/net/tcp6"]
