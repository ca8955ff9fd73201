"""Replaces a site's names in the files of a bundle, each by the same substitute everywhere; digests are of the result.

Names of hosts, users, domains, interfaces, folders and Slurm are found first (names.py); addresses are replaced
wherever they occur, by addresses reserved for documentation.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import yaml

from whitewire import atomic, workloads
from whitewire.description import project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import digest, fabric_names, read_testbed
from whitewire.design.rows import make_design, parse_design
from whitewire.errors import UserError
from whitewire.records import manifest
from whitewire.records.checked import PACKAGE
from whitewire.records.manifest import MANIFEST_FILE
from whitewire.report import bundle, names
from whitewire.report.bundle import TESTBED_FILE
from whitewire.report.names import FOLDER, HOST, NAME_KINDS
from whitewire.workloads import WORKLOADS

Contents = dict[str, bytes | Path]
"""Content of a bundle or crate by path, as bytes or as a file."""
_PUBLIC = ("workflow/", "envs/", "LICENSE", "CITATION.cff")
"""Files of the repository, which are public."""
YAML = ("config/config.yaml", TESTBED_FILE)
"""Written anew without comments, by the end of their path."""
_PIECE = 1 << 24
"""Bytes of lines that are searched at once."""
_LONG = ("series.csv.gz", "operations.csv")
"""Tables whose hosts other tables have too."""
SUFFIXES = {"gz", "json", "csv", "txt", "log", "out", "err", "xml", "html", "svg"}
"""Suffixes of files, which are not domains."""
_ADDRESS = "address"
_OWN = "id"
"""Kind of the project's own ids that contain a name of the site. They stay as they are."""
_NO_NUMBER = re.compile(r"[^\d\[\],-]+")
"""Characters of a host list beside its numbers, brackets, commas and hyphens."""
IPV4 = re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?!\d|\.\d)")
VERSION = ("==", "version ", 'version "')
"""Text before four numbers that are not an address."""
IPV6 = re.compile(r"(?<![\w:.])(?:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3})(?::[0-9a-f]{0,4}){2,7}(?![\w:])", re.I)
HARDWARE = re.compile(r"(?<![\w:])(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}(?![\w:])|"
                      r"(?<![\w:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![\w:])", re.I)  # fmt: skip
"""MAC, the address of an IPoIB link, and a GUID."""
_SPARE = [ipaddress.ip_network(each) for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15")]
_KEPT = [ipaddress.ip_network(each) for each in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")] + _SPARE
_EMULATED = [ipaddress.ip_network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
"""Networks of an emulated testbed's hosts, which every machine has."""
_RUN = re.compile(r"[A-Za-z0-9_.-]+-r\d+-[0-9a-f]{6}(?![0-9a-z])")
_CARRIED = re.compile(r"(data:text/[a-z]+;base64,)([A-Za-z0-9+/=]+)")
_BEFORE = ("@", "/home/", "/Users/", "/user/", "ugi=", "user=", "USER=", "UserId=", "GroupId=", "as:", "Account=",
           "Partition=", "JobName=", "--account=", "--partition=", "ssh: ", '"target": "', '"interface": "',
           "hdfs://")  # fmt: skip
_AFTER = r"@|/\d{1,3}\.\d|:\d{2,5}\b"
"""Text before or after a word that marks it as a name."""


@dataclass
class Mask:
    """`pairs`: name → (kind, substitute). `ids`: run id → new run id. `seen`: what was replaced, by kind."""

    pairs: Mapping[str, tuple[str, str]]
    emulated: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    seen: dict[str, set[str]] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_lower = {name.lower(): (kind, to) for name, (kind, to) in self.pairs.items()}
        sure: list[tuple[str, str]] = []
        unsure: list[tuple[str, str]] = []
        for name, (kind, _) in sorted(self.pairs.items(), key=lambda pair: -len(pair[0])):
            if kind == _OWN or names.is_sure(kind, name):
                sure.append((kind, re.escape(name)))
            if kind == _OWN or not names.is_sure(kind, name):
                unsure.append((kind, re.escape(name)))
        hosts = {re.split(r"\d", name)[0] for name, (kind, _) in self.pairs.items() if kind == HOST}
        several = "|".join(re.escape(each) for each in sorted(hosts, key=len, reverse=True) if len(each) > 1)
        words = "|".join(text for kind, text in unsure if kind != FOLDER)
        folders = "|".join(text for kind, text in unsure if kind in (FOLDER, _OWN))
        self._passes: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = []
        if sure:
            anywhere, first = (
                "|".join(text for _, text in sure),
                "".join(sorted({re.escape(text.lstrip("\\")[0]) for _, text in sure})),
            )
            domain = r"(?:(?:\.[a-z][a-z0-9-]*){2,}(?![\w.]))?"
            self._add(rf"()(?<![A-Za-z0-9])(?=[{first}])({anywhere})(?![A-Za-z0-9])({domain})", self._name)
        if several:  # as Slurm writes several: node[01-16], node0[1-4], rack[1-2]n[01-16]-ib
            listed = r"((?=[\d\[])(?:[a-z0-9-]*\[\d[\d,-]*\]?)+)(?:-?[a-z][a-z0-9-]*)?"
            self._add(rf"(?<![A-Za-z0-9])(?:{several}){listed}", lambda found: "host-" + _NO_NUMBER.sub("", found[1]))
        if words:
            before = "|".join(map(re.escape, _BEFORE))
            self._add(rf"({before})({words})(?![A-Za-z0-9])()", self._name)
            self._add(rf"()(?<![A-Za-z0-9])({words})(?={_AFTER})()", self._name)
        if folders:
            self._add(rf"(/)({folders})(?![A-Za-z0-9])()", self._name)
        if self.ids:
            self._passes.append((_RUN, lambda found: self.ids.get(found[0], found[0])))
        self._passes += [(IPV4, self._ipv4), (HARDWARE, self._hardware), (IPV6, self._ipv6)]

    def _add(self, pattern: str, by: Callable[[re.Match[str]], str]) -> None:
        self._passes.append((re.compile(pattern, re.IGNORECASE), by))

    def text(self, text: str) -> str:
        """A text with other names."""
        for pattern, by in self._passes:
            text = pattern.sub(by, text)
        return _CARRIED.sub(self._carried, text) if "base64," in text else text

    def content(self, content: bytes) -> bytes:
        """Bytes of a file with its names replaced, whatever their encoding."""
        return self.text(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _name(self, found: re.Match[str]) -> str:
        """Replacement for a match: text before a name, the name, and its domain."""
        before, name, domain = found.groups()
        kind, to = self._by_lower[name.lower()]
        if kind == _OWN:
            return before + name + self.text(domain)
        if kind:
            self.seen.setdefault(kind, set()).add(name.lower())
        return before + to + ("" if kind == HOST and domain.rpartition(".")[2] not in SUFFIXES else domain)

    def _other(self, address: str, made: Callable[[int], str]) -> str:
        self.seen.setdefault(_ADDRESS, set()).add(address)
        return self._addresses.setdefault(address, made(len(self._addresses) + 1))

    def _ipv4(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv4Address(found[1])
        except ValueError:  # a version
            return found[0]
        before = found.string[max(found.start() - 9, 0) : found.start()]
        is_version = before.endswith(VERSION) or (
            before.endswith("=") and found.string[found.end() : found.end() + 1] in [*"-+~"]
        )
        kept = [*_KEPT, *(_EMULATED if self.emulated else [])]
        if any(address in network for network in kept) or is_version:
            return found[0]
        return self._other(found[1], _spare)

    def _ipv6(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv6Address(found[0])
        except ValueError:
            return found[0]
        if address in ipaddress.ip_network("2001:db8::/32"):
            return found[0]
        return self._other(str(address), lambda number: f"2001:db8::{number:x}")

    def _hardware(self, found: re.Match[str]) -> str:
        groups = found[0].split(":")
        width = len(groups[0])
        if found[0].startswith("00:00:5e:00:53:") or not any(group.strip("0fF") for group in groups):
            return found[0]

        def made(number: int) -> str:
            text = f"{number:0{width * len(groups)}x}"
            return ":".join(text[at : at + width] for at in range(0, len(text), width))

        return self._other(found[0].lower(), made)

    def _carried(self, found: re.Match[str]) -> str:
        try:
            content = base64.b64decode(found[2], validate=True)
        except ValueError:
            return found[0]
        return found[1] + base64.b64encode(self.content(content)).decode()


def _spare(number: int) -> str:
    """The address of this number, from 1, of those for documentation and benchmarks."""
    for network in _SPARE:
        if number < network.num_addresses - 1:
            return str(network.network_address + number)
        number -= network.num_addresses - 2
    return "198.19.255.255"


# -- of all files ------------------------------------------------------------------------------------------


def masked(
    files: Mapping[str, bytes | Path], record: bundle.BundleRecord, prefix: str, folder: Path
) -> tuple[Contents, Mask, list[str]]:
    """Files by path with names replaced, the mask, and the paths of files left out.

    `prefix`: the path of results in `files`; `folder`: for files that are too large for memory.
    """
    ours = {name: content for name, content in files.items() if not name.startswith(_PUBLIC)}
    mask = _mask(ours, record, prefix, folder)
    made: Contents = {name: content for name, content in files.items() if name.startswith(_PUBLIC)}
    before: dict[str, manifest.Entry] = {}
    left_out, changed = [], set()
    for number, (name, content) in enumerate(sorted(ours.items())):
        new = mask.text(name)
        found = _of_file(mask, name, content, folder / str(number), prefix)
        if found is None:
            left_out.append(name)
        else:
            made[new] = found
        if found is not content or new != name:
            before[new] = entry_of_file(content)
            changed.add(name)
    pages = {PurePosixPath(name).stem for name in changed if name.startswith("reports/") and name.endswith(".html")}
    for name in [each for each in made if each.startswith("reports/") and _is_drawn(each) and _page(each) in pages]:
        left_out.append(name)
        del made[name]
    _list_anew(made, before, prefix)
    return dict(sorted(made.items())), mask, sorted(left_out)


def entry_of_file(content: bytes | Path) -> manifest.Entry:
    """A manifest's entry for a file, which is read piece by piece."""
    if isinstance(content, bytes):
        return manifest.entry(content)
    with content.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": file.tell()}


def _is_drawn(name: str) -> bool:
    return name.endswith((".pdf", ".png"))


def _page(name: str) -> str:
    """The page of a report's PDF or figure."""
    parts = PurePosixPath(name).parts
    return parts[2] if len(parts) > 3 else PurePosixPath(name).stem


def _mask(files: Mapping[str, bytes | Path], record: bundle.BundleRecord, prefix: str, folder: Path) -> Mask:
    path = folder / f"{record['testbed']}.yaml"
    path.write_bytes(whole_bytes(files[prefix + TESTBED_FILE]))
    testbed = read_testbed(path)
    named = [*names.of_machine(), *names.of_description(load_yaml(path))]
    for name, content in files.items():
        if name.startswith(prefix):
            named += _named(name, content)
    emulated = capabilities_of(testbed).local
    pairs = _without_own(names.numbered(names.sorted_out(named)), _own(files, record, testbed, prefix))
    first = Mask(pairs, emulated)
    other = folder / "masked.yaml"
    other.write_text(_without_comments(path, first), encoding="utf-8")
    new = read_testbed(other)
    pairs |= {digest(testbed): ("", digest(new))} if digest(new) != digest(testbed) else {}
    return Mask(pairs, emulated, _ids(record, testbed, new), _addresses=first._addresses)


def _own(
    files: Mapping[str, bytes | Path], record: bundle.BundleRecord, testbed: Mapping[str, Any], prefix: str
) -> set[str]:
    """Ids that belong to the project itself and stay, because an opened crate is checked and judged by them."""
    own = {record["testbed"], *record["papers"], *fabric_names(testbed), *WORKLOADS, *workloads.metric_names()}
    for workload in WORKLOADS.values():
        own.update(workload.known(), workload.factors, *workload.choices.values())
    for paper in record["papers"]:
        for row in parse_design(whole_bytes(files[f"{prefix}{paper}/{bundle.DESIGN}"]).decode()):
            own.update(map(str, (*row, *row.values())))
    return own


def _without_own(pairs: Mapping[str, tuple[str, str]], own: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The pairs, and for each own id that they would change a pair that keeps it. Names equal to such an id are
    dropped."""
    mask = Mask(pairs)
    kept = {each: (_OWN, each) for each in own if mask.text(f"/{each}") != f"/{each}"}
    lower = {each.lower() for each in kept}
    return {name: pair for name, pair in pairs.items() if name.lower() not in lower} | kept


def _named(name: str, content: bytes | Path) -> set[tuple[str, str]]:
    """Names in a file of results."""
    found: set[tuple[str, str]] = set()
    for piece in _pieces(name, content):
        found.update(names.of_text(piece.decode("utf-8", "surrogateescape")))
    if name.endswith(".csv") and PurePosixPath(name).name not in _LONG:
        text = whole_bytes(content).decode("utf-8", "replace")
        found.update(names.of_rows(csv.DictReader(io.StringIO(text, newline=""))))
    return found


def _ids(record: bundle.BundleRecord, testbed: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Run ids that change with the new description → their new ids, by which the design is checked where the bundle is
    opened.

    UserError if the new description has other runs.
    """
    found: dict[str, str] = {}
    for paper, own in record["papers"].items():
        try:
            loaded = load_paper(project.paper_path(paper), fabric_names(testbed))
            old_rows, new_rows = (make_design(loaded, each, own["effort"], record["seed"]) for each in (testbed, new))
        except UserError:  # it is described otherwise by now, which is reported where the bundle is opened
            continue
        if len(old_rows) != len(new_rows):
            raise UserError(
                f"{paper}: found {len(new_rows)} runs once names of {record['testbed']} are replaced, expected "
                f"{len(old_rows)} as before; rename what has a fabric's name in its description, or keep names with "
                "PRIVATE=keep"
            )
        ids = ((a["run_id"], b["run_id"]) for a, b in zip(old_rows, new_rows, strict=True))
        found |= {a: b for a, b in ids if a != b}
    return found


def _without_comments(path: Path, mask: Mask) -> str:
    return mask.text(yaml.safe_dump(load_yaml(path), sort_keys=False, allow_unicode=True, width=10**6))


def _of_file(mask: Mask, name: str, content: bytes | Path, scratch: Path, prefix: str) -> bytes | Path | None:
    """A file with names replaced; the same object if nothing is replaced; None if the file cannot be searched."""
    if name in (YAML[0], prefix + YAML[1]):
        scratch.write_bytes(whole_bytes(content))
        return _without_comments(scratch, mask).encode()
    if not _is_text(name, content):
        return content if name.startswith("reports/") and _is_drawn(name) else None
    if isinstance(content, bytes):
        pieces = list(_pieces(name, content))
        new = [mask.content(piece) for piece in pieces]
        return content if new == pieces else _packed(name, b"".join(new))
    same = True
    with scratch.open("wb") as raw, _packing(name, raw) as to:
        for piece in _pieces(name, content):
            new_piece = mask.content(piece)
            same = same and new_piece == piece
            to.write(new_piece)
    return content if same else scratch


def _is_text(name: str, content: bytes | Path) -> bool:
    try:
        return b"\0" not in next(_pieces(name, content), b"")
    except (OSError, EOFError):  # no archive, though it is called one
        return False


def _pieces(name: str, content: bytes | Path) -> Iterator[bytes]:
    """Whole lines of a file, unpacked."""
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as raw:
        stream = gzip.GzipFile(fileobj=raw) if name.endswith(".gz") else raw
        while lines := stream.readlines(_PIECE):
            yield b"".join(lines)


def _packing(name: str, raw: IO[bytes]) -> Any:
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if name.endswith(".gz") else raw


def _packed(name: str, content: bytes) -> bytes:
    return gzip.compress(content, mtime=0) if name.endswith(".gz") else content


def whole_bytes(content: bytes | Path) -> bytes:
    """The bytes of a file of Contents."""
    return content if isinstance(content, bytes) else content.read_bytes()


def _list_anew(made: Contents, before: dict[str, manifest.Entry], prefix: str) -> None:
    """Update changed files in manifests and datapackages; `before`: earlier entries by path. Entries that were wrong
    stay wrong."""
    listings = [
        name for name in made if PurePosixPath(name).name in (MANIFEST_FILE, PACKAGE) and name.startswith(prefix)
    ]
    for name in sorted(listings, key=lambda each: -each.count("/")):
        old = whole_bytes(made[name])
        try:
            listing = json.loads(old)
            entries = _entries(listing)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # broken: reported where it is read
        place = PurePosixPath(name).parent
        changed = False
        for path, read, write in entries:
            own = str(place / path)
            if own in before and own in made and read() == before[own]:
                write(entry_of_file(made[own]))
                changed = True
        if changed:
            before.setdefault(name, entry_of_file(old))
            made[name] = atomic.as_json(listing).encode()


def _entries(listing: Any) -> Sequence[tuple[str, Callable[[], Any], Callable[[manifest.Entry], None]]]:
    """(path, function that reads its entry, function that changes it) for each file in a manifest or a datapackage."""

    def of_resource(own: dict[str, Any]) -> tuple[str, Callable[[], Any], Callable[[manifest.Entry], None]]:
        return (
            own["path"],
            lambda: {"bytes": own.get("bytes"), "sha256": str(own.get("hash", "")).removeprefix("sha256:")},
            lambda new: own.update(bytes=new["bytes"], hash=f"sha256:{new['sha256']}"),
        )

    def of_file(path: str, own: dict[str, Any]) -> tuple[str, Callable[[], Any], Callable[[manifest.Entry], None]]:
        return path, lambda: own, own.update

    if "resources" in listing:
        return [of_resource(each) for each in listing["resources"]]
    return [of_file(path, own) for path, own in listing["files"].items()]


# -- what is printed of it ---------------------------------------------------------------------------------


def masking_lines(mask: Mask, left_out: Iterable[str]) -> list[str]:
    """Report of what was replaced and left out, in lines."""
    counted = [f"{len(mask.seen[kind])} {_plural(kind, len(mask.seen[kind]))}"
               for kind in (*NAME_KINDS, _ADDRESS) if mask.seen.get(kind)]  # fmt: skip
    lines = [f"replaced: {', '.join(counted) or 'nothing: no name of a site was found'} (PRIVATE=keep keeps them)"]
    if left := list(left_out):
        lines.append(f"left out, as names in them cannot be replaced: {', '.join(left)}")
    return lines


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind}es" if kind.endswith("s") else f"{kind}s"


def content_lines(files: Mapping[str, bytes | Path], prefix: str) -> list[str]:
    """Report of the content, a line per kind of file."""
    counts, sizes = Counter[str](), Counter[str]()
    for name, content in files.items():
        kind = _kind(name, prefix)
        counts[kind] += 1
        sizes[kind] += len(content) if isinstance(content, bytes) else content.stat().st_size
    return [f"{kind}: {counts[kind]} {_plural('file', counts[kind])}, {sizes[kind] / 1e6:.1f} MB" for kind in counts]


def _kind(name: str, prefix: str) -> str:
    parts = PurePosixPath(name).parts
    if name.startswith(_PUBLIC):
        return "workflow, packages, licence"
    if name.startswith(prefix):
        if name.endswith((".csv", ".csv.gz")):
            return "tables"
        return "records" if len(parts) < 6 and name.endswith((".json", ".yaml")) else "raw output"
    return {"config": "configuration", "reports": "reports"}.get(parts[0], "other")
