"""Which papers, testbeds and efforts there are, and whether the environment names one of them.

Standard library only: `scripts/asked` checks the names before the set-up has installed anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whitewire import budget
from whitewire.errors import UserError
from whitewire.paths import root
from whitewire.text import one_of, quoted, suggestion

EFFORTS = ("smoke", "quick", "full")
WORDS = {"EFFORT": EFFORTS, "AGAIN": ("busy",)}
"""Variables that take one of a few words."""


def papers() -> list[str]:
    """The names of all papers that have a file."""
    return _stems("papers")


def testbeds() -> list[str]:
    """The names of all testbeds that have a file."""
    return _stems("testbeds")


def _stems(folder: str) -> list[str]:
    found = (path.stem for path in (root() / "config" / folder).glob("*.yaml"))
    return sorted(name for name in found if not name.endswith(".example"))


def listed(text: str) -> list[str]:
    """The papers that PAPERS names."""
    return text.replace(",", " ").split()


def check(environ: Mapping[str, str]) -> None:
    """Raise a UserError where PAPERS, TESTBED, EFFORT, AGAIN or BUDGET name what there is not."""
    asked = environ.get("PAPERS", "")
    for index, paper in enumerate(listed(asked)):
        known(paper, papers(), f"PAPERS={asked}: papers[{index}]", "papers")
    if testbed := environ.get("TESTBED"):
        known(testbed, testbeds(), f"TESTBED={testbed}: testbed", "testbeds")
    for name, words in WORDS.items():
        if (found := environ.get(name)) and found not in words:
            told = f"found {quoted(found)}, expected {one_of(words)}{suggestion(found, words)}"
            raise UserError(f"{name}={found}: {name.lower()}: {told}")
    if time := environ.get("BUDGET"):
        check_budget(time, f"BUDGET={time}")


def known(name: str, names: Sequence[str], where: str, folder: str) -> None:
    """Raise a UserError unless a name is one of those of a folder of config/."""
    if name not in names:
        raise UserError(
            f"{where}: found {quoted(name)}, expected {one_of(names) if names else 'a file'} "
            f"of config/{folder}{suggestion(name, names)}"
        )


def check_budget(text: str, where: str) -> None:
    """Raise a UserError where a budget is no time."""
    try:
        budget.seconds_of(text)
    except ValueError as error:
        raise UserError(f"{where}: found {quoted(text)}, expected {error}") from None
