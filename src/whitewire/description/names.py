"""The papers, testbeds and efforts that exist, and whether variables of the environment name existing ones.

Standard library only: `scripts/asked` checks the names before the set-up has installed anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from whitewire import budget
from whitewire.errors import UserError
from whitewire.paths import root
from whitewire.text import one_of, quoted, suggestion

_EFFORTS = ("smoke", "quick", "full")
_WORDS = {"EFFORT": _EFFORTS, "AGAIN": ("busy",), "OUTLIERS": ("stop", "mark")}
"""Variables that take one of a few words."""
_MOST_LANES = 64
CLAIM = "WHITEWIRE_CLAIM"
"""The variable with the claim that `make claim` measures alone."""
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
"""Names of testbeds and papers, which become folders."""
_OWN = {
    "testbeds": ("appendix", "calibration", "compare", "crates", "gallery", "opened", "reference"),
    "papers": ("calibration", "index", "links", "logs", "reports", "testbed", "trust"),
}
"""Names that something else has in results/ and in a testbed's folder there: no testbed and no paper bears them."""
_CLAIMS = re.compile(r"^claims:.*?(?=^\w|\Z)", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\bid:\s*[\"']?([\w.-]+)")


def paper_names() -> list[str]:
    """The names of all papers that have a file."""
    return _stems("papers")


def testbeds() -> list[str]:
    """The names of all testbeds that have a file."""
    return _stems("testbeds")


def _stems(folder: str) -> list[str]:
    found = (path.stem for path in (root() / "config" / folder).glob("*.yaml"))
    return sorted(name for name in found if not name.endswith(".example"))


def papers_listed(text: str) -> list[str]:
    """The papers that PAPERS names."""
    return text.replace(",", " ").split()


def claims(paper: str) -> list[str]:
    """The claims of a paper, so far as its text shows them without YAML."""
    text = (root() / "config" / "papers" / f"{paper}.yaml").read_text(encoding="utf-8", errors="replace")
    found = _CLAIMS.search(text)
    return _ID.findall(found[0]) if found else []


def paper_of(claim: str, among: Sequence[str] = ()) -> str:
    """The paper that has a claim, among all papers or those given. Raises a UserError if no paper or several have
    it."""
    ids = {paper: claims(paper) for paper in among or paper_names()}
    having = [paper for paper, own in ids.items() if claim in own]
    if len(having) == 1:
        return having[0]
    if having:
        expected = f"PAPERS={' or PAPERS='.join(having)} beside it"
    else:
        where = " or ".join(among) or "a paper in config/papers"
        near = suggestion(claim, [each for own in ids.values() for each in own])
        expected = f"the id of a claim of {where}, as its page prints it{near}"
    raise UserError(f"CLAIM={claim}: found {quoted(claim)}, expected {expected}")


def check_variables(environ: Mapping[str, str]) -> None:
    """Raise a UserError if a variable of make names something that does not exist.

    Also if ARGS sets what a variable sets: Snakemake would read it, but no other command that make starts.
    """
    asked = environ.get("PAPERS", "")
    named = papers_listed(asked)
    if asked and (not named or len({*named}) < len(named)):
        raise UserError(f"PAPERS={asked}: papers: found {quoted(asked)}, expected names of papers, each once")
    for index, paper in enumerate(named):
        check_known(paper, paper_names(), f"PAPERS={asked}: papers[{index}]", "papers")
    if testbed := environ.get("TESTBED"):
        check_known(testbed, testbeds(), f"TESTBED={testbed}: testbed", "testbeds")
    for name, words in _WORDS.items():
        if (found := environ.get(name)) and found not in words:
            fault = f"found {quoted(found)}, expected {one_of(words)}{suggestion(found, words)}"
            raise UserError(f"{name}={found}: {name.lower()}: {fault}")
    if (lanes := environ.get("LANES")) and lanes != "auto":
        number = int(lanes) if lanes.isascii() and lanes.isdecimal() and len(lanes) < 6 else 0
        if not 1 <= number <= _MOST_LANES:
            raise UserError(f"LANES={lanes}: lanes: found {quoted(lanes)}, expected 1 to {_MOST_LANES}, or auto")
    if time := environ.get("BUDGET"):
        check_budget(time, f"BUDGET={time}")
    for word in environ.get("ARGS", "").split():
        if word == "-C" or word.partition("=")[0] == "--config":
            raise UserError(f"ARGS: found {word}, expected a variable of make in its place, such as OUTLIERS=mark")
    if CLAIM in environ:
        paper_of(environ[CLAIM], named)


def unfit_name(name: str, folder: str) -> str:
    """The fault of a name for a folder of config/; empty for a valid name."""
    if not PLAIN_NAME.fullmatch(name):
        return "expected at most 60 letters, digits, - and _, a letter or digit first"
    return f"expected another name than {', '.join(_OWN[folder])}" if name in _OWN[folder] else ""


def check_known(name: str, names: Sequence[str], where: str, folder: str) -> None:
    """Raise a UserError unless a name exists in a folder of config/ and is valid for a folder of results."""
    if name not in names:
        raise UserError(
            f"{where}: found {quoted(name)}, expected {one_of(names) if names else 'a file'} "
            f"of config/{folder}{suggestion(name, names)}"
        )
    if why := unfit_name(name, folder):
        raise UserError(f"{where}: found {quoted(name)}, {why}: rename config/{folder}/{name}.yaml")


def check_budget(text: str, where: str) -> None:
    """Raise a UserError where a budget is no time."""
    try:
        budget.seconds_of(text)
    except ValueError as error:
        raise UserError(f"{where}: found {quoted(text)}, expected {error}") from None
