"""`whitewire new-paper`: the two files of a paper, from a few answers and the template; valid before they are there."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from whitewire import printed, quantities, whole
from whitewire.description.files import dotted, validate
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME, root, shown, temporary
from whitewire.text import numbers, quoted, suggestion
from whitewire.units import gbit_per_s
from whitewire.workflow.plan import checked_paper

TEMPLATE = HOME / "docs" / "template"
TESTBED = "emulated"
MADE_UP = "made-up-2026"
EXPERIMENT = "ingest"
"""The template's experiment, with which a claim on runs begins."""
GO_ON = """\
docs/use/keys.md has every key. Go on by
# docs/use/add-a-paper.md: further values and claims, the testbed as it is printed, an audit, your own experiments.
"""
TO_DO = {
    "roles": "the paper's hosts", "parameters": "the paper's files, blocks and copies",
    "hardware": "the paper's drives, with a source for each number",
}  # fmt: skip
"""Keys of the template's experiment that are still the template's, and what belongs there."""
UNITS = {"throughput": "MB/s", "completion_time": "s"}
RELATIVE = 0.1
KINDS = {"ratio": "ratio", "value": "threshold", "not_testable": "qualitative"}
NEEDED = {"ratio": ("printed", "fabric", "over"), "value": ("printed", "fabric"), "not_testable": ("missing",)}
Answers = dict[str, Any]


def new_paper(answers: Answers, source: str) -> tuple[Path, Path]:
    """Write config/papers/<id>.yaml and paper/<id>.qmd; return both. `source` is where the answers come from.

    Raises UserError, and writes nothing, where an answer is wrong or one of the files is there.
    """
    _check(answers, source)
    paths = root() / "config" / "papers" / f"{answers['id']}.yaml", root() / "paper" / f"{answers['id']}.qmd"
    for path in paths:
        if path.exists():
            raise UserError(f"{shown(path)}: is there already, and is not written over; take another id")
    texts = paper_text(answers), document_text(answers)
    _try(texts[0], answers["id"], source)
    for path, text in zip(paths, texts, strict=True):
        whole.write(path, text)
    return paths


def read(path: Path) -> Answers:
    """Answers from a file."""
    return load_yaml(path)


def _check(answers: Answers, source: str) -> None:
    validate(answers, "new-paper", source)
    fabrics = fabric_names(load_testbed(TESTBED))
    exhibits = [exhibit["id"] for exhibit in answers["exhibits"]] + ["text"]
    for index, claim in enumerate(answers["claims"]):
        for key in NEEDED[claim["form"]]:
            if key not in claim:
                raise UserError(f"{source}: claims[{index}].{key}: found nothing, expected it for form {claim['form']}")
        for key, known in (("exhibit", exhibits), ("fabric", fabrics), ("over", fabrics)):
            if key in claim and claim[key] not in known:
                near = suggestion(claim[key], known)
                place = dotted(("claims", index, key))
                raise UserError(
                    f"{source}: {place}: found {quoted(claim[key])}, expected one of {', '.join(known)}{near}"
                )
        if claim["form"] != "not_testable":
            try:
                number(claim)
            except ValueError as error:
                raise UserError(f"{source}: claims[{index}].printed: {error}") from None


def _try(text: str, name: str, source: str) -> None:
    """Raise the UserError that `whitewire validate` would, of the answers."""
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        testbed = load_testbed(TESTBED)
        try:
            checked_paper(path, testbed)
        except UserError as error:
            raise UserError(str(error).replace(shown(path), source)) from None


# --- the paper --------------------------------------------------------------------------------------


def number(claim: Mapping[str, Any]) -> tuple[float | str, str]:
    """Value and unit of a claim's printed number: `50 % faster` is (1.5, x), `118 MiB/s` itself in MB/s.

    Raises ValueError where it has no sure reading.
    """
    text, metric = claim["printed"], claim.get("metric", printed.RATE)
    if claim["form"] == "value":
        unit = UNITS[metric]
        quantities.converted(text, unit)
        found = quantities.amount(text)
        return (found[0] if found and quantities.factor(found[1], unit) == 1 else text), unit
    ratio = printed.factor(text, metric)
    return int(ratio) if ratio.is_integer() else ratio, "x"


def reading(claim: Mapping[str, Any]) -> str:
    """What a claim's printed number was taken for: `"50 % faster" reads as 1.5 times`."""
    value, unit = number(claim)
    if isinstance(value, str):
        value = quantities.converted(value, unit)
    return f"{quoted(claim['printed'])} reads as {numbers([value])[0]} {'times' if unit == 'x' else unit}"


def readings(answers: Answers) -> list[str]:
    """The same of all claims that have a number, with their keys."""
    measured = ((index, claim) for index, claim in enumerate(answers["claims"]) if claim["form"] != "not_testable")
    return [f"claims[{index}].printed: {reading(claim)}" for index, claim in measured]


def paper_text(answers: Answers) -> str:
    """The YAML: the template's sections, those that tell of its invented paper replaced."""
    template = sections((TEMPLATE / "paper.yaml").read_text(encoding="utf-8"))
    measured = [claim for claim in answers["claims"] if claim["form"] != "not_testable"]
    letter = _letter(answers)
    own = {
        "id": f"id: {answers['id']} # the name of this file and of paper/{answers['id']}.qmd\n",
        **{key: f"{key}: {_flow(answers[key])}\n" for key in ("title", "publisher", "year")},
        "source": as_yaml({"source": answers["source"]}) if answers.get("source") else "",
        "finding": f"finding: {letter}-C01\n",
        "headline": f"headline: {letter}-C01\n\n",
        "testbed": "testbed:\n  not_stated: []\n\n",
        "exhibits": as_yaml({"exhibits": answers["exhibits"]}) + "\n",
        "values": "values:\n" + "".join(f"- {_flow(value)}\n" for value in _values(answers)) + "\n",
        "claims": as_yaml({"claims": list(_claims(answers))}) + "\n",
        **dict.fromkeys(("constants", "audit", "sweeps"), ""),
    }
    head = f"# {' '.join(answers['title'].split())}, as data. {GO_ON}"
    parts = [head]
    for key, comment, body in template:
        if key in own:
            parts.append(own[key] if key in ("id", "source") or not own[key] else comment + own[key])
        elif measured:
            parts.append(comment + _adapted(body, measured, letter))
    return "".join(parts).rstrip() + "\n"


def sections(text: str) -> list[tuple[str, str, str]]:
    """(key, comment above it, its text) of each top-level key."""
    found = re.findall(r"((?:^#.*\n)*)^(\w+):(.*\n(?:^(?:[ \-].*)?\n)*)", text, re.MULTILINE)
    return [(key, comment, f"{key}:{body}") for comment, key, body in found]


def _adapted(body: str, measured: Sequence[Mapping[str, Any]], letter: str) -> str:
    """A section of the template with the networks and the letter of this paper."""
    used = {claim[key] for claim in measured for key in ("fabric", "over") if key in claim}
    listed = re.search(r"fabric: \[(.*)\]", body)
    if listed:
        every = sorted({*listed[1].split(", "), *used}, key=lambda name: (gbit_per_s(name), name))
        body = body.replace(listed[0], f"fabric: [{', '.join(every)}]")
    ends = sorted(used, key=gbit_per_s)
    slow, fast = ends[0], ends[-1] if len(ends) > 1 else ("10gbe" if ends[0] != "10gbe" else "1gbe")
    body = body.replace("two SATA drives per node (paper, Table 1)", "assumption: two SATA drives per node")
    for key, what in TO_DO.items():
        body = re.sub(rf"(?m)^(\s*){key}:", rf"\1# To do: {what}\n\1{key}:", body, count=1)
    swap = {"1gbe": slow, "10gbe": fast, "1GbE": slow, "10GbE": fast, "N-K": f"{letter}-K"}
    pattern = r"(?<=fabric: )(?:1gbe|10gbe)\b|\b(?:1|10)GbE\b|\bN-K"
    return re.sub(pattern, lambda match: swap[match[0]], body)


def _letter(answers: Answers) -> str:
    first = next((sign for sign in answers["publisher"].upper() if "A" <= sign <= "Z"), "P")
    return answers.get("letter", first)


def _numbered(answers: Answers) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(claim's id, its value's id, the claim); only claims on runs have a value."""
    values = 0
    for index, claim in enumerate(answers["claims"], start=1):
        values += claim["form"] != "not_testable"
        yield f"{_letter(answers)}-C{index:02d}", f"{_letter(answers)}-V{values:02d}", claim


def _values(answers: Answers) -> Iterator[dict[str, Any]]:
    for _, name, claim in _numbered(answers):
        if claim["form"] == "not_testable":
            continue
        value, unit = number(claim)
        metric = claim.get("metric", "throughput").replace("_", " ")
        over = f" over {claim['over']}" if claim["form"] == "ratio" else ""
        yield {
            "id": name, "exhibit": claim.get("exhibit", "text"), "metric": metric, "condition": claim["fabric"] + over,
            "value": value, "printed": claim["printed"], "unit": unit, "scope": "result",
        }  # fmt: skip
    if all(claim["form"] == "not_testable" for claim in answers["claims"]):
        yield {
            "id": f"{_letter(answers)}-V01", "exhibit": "text", "metric": "exhibits", "condition": "all",
            "value": len(answers["exhibits"]), "printed": str(len(answers["exhibits"])), "unit": "count",
            "scope": "context",
        }  # fmt: skip


def _claims(answers: Answers) -> Iterator[dict[str, Any]]:
    for name, value, claim in _numbered(answers):
        exhibit, testable = claim.get("exhibit", "text"), claim["form"] != "not_testable"
        why = f"To do: say why {RELATIVE:.0%} is the tolerance that the sentence lets a reader expect"
        yield {
            "id": name, "statement": claim["statement"], "kind": KINDS[claim["form"]],
            "basis": exhibit, "exhibits": [exhibit],
            "routes": ["emulated", "measured"] if testable else ["not_testable"],
            "why": why if testable else f"No testbed here has {claim['missing']}", "test": _test(claim, value),
        }  # fmt: skip


def _test(claim: Mapping[str, Any], value: str) -> dict[str, Any]:
    if claim["form"] == "not_testable":
        return {"estimand": "none", "missing": claim["missing"], "testbed": f"one with {claim['missing']}"}
    metric, expected = claim.get("metric", "throughput"), value.replace("-", "_")
    cells = {
        key: {"experiment": EXPERIMENT, "where": {"fabric": claim[key]}} for key in ("fabric", "over") if key in claim
    }
    judged = {"relation": "within", "expected": expected, "relative": RELATIVE}
    if claim["form"] == "value":
        over = {"constant": 1, "unit": UNITS[metric]}
        return {"estimand": "share", "metric": metric, "cell": cells["fabric"], "over": over, **judged}
    sides = {"numerator": cells["fabric"], "denominator": cells["over"]}
    return {"estimand": "ratio", "metric": metric, **sides, **judged, "no_effect": 1}


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return text.strip().removesuffix("...").strip()


def as_yaml(value: Any) -> str:
    """A mapping as YAML: what holds no other mapping or list in one line."""
    return yaml.safe_dump(value, default_flow_style=None, width=10**6, sort_keys=False, allow_unicode=True)


# --- the document -----------------------------------------------------------------------------------


def document_text(answers: Answers) -> str:
    """The document: the template's parts that hold for any paper, and a section for each exhibit."""
    template = (TEMPLATE / "paper.qmd").read_text(encoding="utf-8")
    front, *parts = re.split(r"^(?=# )", template, flags=re.MULTILINE)
    by_name = {re.search(r"\{#sec-(\w+)\}", part)[1]: part for part in parts}  # type: ignore[index]
    opening = re.sub(r"^`r curve_sentence\(.*\n\n", "", front[front.index("```{r}") :], flags=re.MULTILINE)
    title = f"---\ntitle: {_quoted(answers['title'])}\nsubtitle: {_quoted(answers['publisher'] + ', measured again')}\n"
    title += f'eyebrow: "Whitewire report · {answers["id"]}"\nbibliography: references.bib\n---\n\n'
    cited = f" [@{answers['id']}]" if answers.get("source") else ""
    verdicts = re.search(r"```\{r\}\n#\| child: parts/verdicts.qmd\n```\n", by_name["paper"])
    claimed = f"# What the paper claimed {{#sec-paper}}\n\nThe paper{cited} says: `r claims_sentence()`\n\n"
    text = title + opening + claimed + (verdicts[0] if verdicts else "") + "\n"
    text += re.sub(r"^## .*", "", by_name["exhibits"], flags=re.MULTILINE | re.DOTALL)
    text += "".join(_exhibit(answers, exhibit["id"]) for exhibit in answers["exhibits"])
    return text + _limits(answers, by_name["limits"])


def _exhibit(answers: Answers, exhibit: str) -> str:
    rebuilt = [
        f'"{value}" = from_claim("{claim}")'
        for claim, value, given in _numbered(answers)
        if given.get("exhibit", "text") == exhibit and given["form"] != "not_testable"
    ]
    return (
        f'## `r exhibit_title("{exhibit}")` {{#sec-{exhibit}}}\n\n```{{r}}\n#| label: tbl-{exhibit}-values\n'
        '#| tbl-cap: "Published values of this exhibit beside the same values rebuilt."\n'
        f'beside_values("{exhibit}", list({", ".join(rebuilt)}))\n```\n\n'
    )


def _limits(answers: Answers, template: str) -> str:
    """What the paper's own runs do not show; the table of drives where there are runs."""
    if any(claim["form"] != "not_testable" for claim in answers["claims"]):
        return re.sub(r"^- \*\*No adapter\..*\n", "", template, flags=re.MULTILINE)
    closing = template[template.rindex("```{r}") :]
    return "# Limitations {#sec-limits}\n\nNothing is measured yet.\n\n" + closing


def _quoted(text: str) -> str:
    """Text for the front matter: nothing in it is markup or code."""
    plain = " ".join(text.split()).replace("`", "'")
    return _flow([re.sub(r"([\\*_{}\[\]#+!|<>~^$@])", r"\\\1", plain) + "\u200b"])[1:-1].replace("\u200b", "")


# --- asking -----------------------------------------------------------------------------------------


def ask() -> Answers:
    """The answers, asked one by one. An empty one takes what stands in brackets, or ends a list."""

    def one(question: str, default: str = "", pattern: str = r".+", among: Collection[str] = ()) -> str:
        while True:
            try:
                said = input(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
            except EOFError:
                raise UserError("new-paper: the answers ended before all was asked") from None
            if (not said and pattern == "") or (re.fullmatch(pattern or ".*", said) and (not among or said in among)):
                return said
            expected = ", ".join(among) or f"text like {pattern}"
            print(f"  found {quoted(said)}, expected {expected}{suggestion(said, among)}")

    answers: Answers = {"id": one("Id (lower case, digits and hyphens)", pattern="[a-z0-9][a-z0-9-]*")}
    answers |= {"title": one("Title as published"), "publisher": one("Publisher")}
    year = one("Year, or nothing", pattern="")
    answers["year"] = int(year) if re.fullmatch(r"\d{4}", year) else None
    authors = one("Authors, as Family, Given; Family, Given; or nothing", pattern="")
    source = {"url": one("Address, or nothing", pattern=""), "doi": one("DOI, or nothing", pattern="")}
    source = {key: value for key, value in source.items() if value}
    if source:
        source["accessed"] = one("Read there on (year-month-day)", pattern=r"\d{4}-\d{2}-\d{2}")
    listed = [name.strip() for name in authors.split(";") if name.strip()]
    if listed or source:
        answers["source"] = ({"authors": listed} if listed else {}) | source
    answers["exhibits"] = []
    while len(answers["exhibits"]) == 0 or (name := one("Next exhibit (fig1, table1), or nothing", pattern="")):
        if not answers["exhibits"]:
            name = one("First exhibit (fig1, table1)", pattern="[a-z]+[0-9]+[a-z]?")
        answers["exhibits"].append({"id": name, "caption": one("  What it shows")})
    exhibits = [exhibit["id"] for exhibit in answers["exhibits"]] + ["text"]
    fabrics = fabric_names(load_testbed(TESTBED))
    answers["claims"] = []
    while len(answers["claims"]) == 0 or (statement := one("Next claim in one sentence, or nothing", pattern="")):
        if not answers["claims"]:
            statement = one("First claim in one sentence")
        claim = {"statement": statement, "form": one("  Its form: ratio, value or not_testable", among=list(NEEDED))}
        claim["exhibit"] = one("  Exhibit that shows it", "text", among=exhibits)
        if claim["form"] == "not_testable":
            claim["missing"] = one("  What the testbed lacks")
        else:
            claim["metric"] = one("  Of what: throughput or completion_time", "throughput", among=list(UNITS))
            claim["printed"] = _asked(one, claim)
            claim["fabric"] = one("  On which network", "10gbe", among=fabrics)
            if claim["form"] == "ratio":
                claim["over"] = one("  Over which network", "1gbe", among=fabrics)
        answers["claims"].append(claim)
    return answers


def _asked(one: Callable[[str], str], claim: Mapping[str, Any]) -> str:
    """A number as printed, asked until it has a sure reading, which is shown."""
    while True:
        said = one("  The number as printed, with its unit (6x, 50 % faster, 118 MiB/s)")
        try:
            print(f"  {reading({**claim, 'printed': said})}")
        except ValueError as error:
            print(f"  {error}")
        else:
            return said
