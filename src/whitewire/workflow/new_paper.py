"""`whitewire new-paper`: the two files of a paper, from a few answers and the template; valid before they are there."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from whitewire import atomic, printed, quantities
from whitewire.description.files import validate_by_schema
from whitewire.description.names import unfit_name
from whitewire.description.reading import yaml_line
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.paths import HOME, root, shown, temporary
from whitewire.printed import PrintedRatio
from whitewire.text import canonical, dotted, numbers, one_of, quoted, suggestion
from whitewire.units import gbit_per_s
from whitewire.workflow.checked_paper import checked_paper
from whitewire.workloads import METRICS, unit_of

TEMPLATE = HOME / "docs" / "template"
_TESTBED = "emulated"
_GO_ON = """\
`make docs` writes every key to build/docs/keys.md. Go on by
# docs/use/add-a-paper.md: further values and claims, the testbed as it is printed, an audit, your own experiments.
"""
TO_DO = {
    "roles": "the paper's hosts", "parameters": "the paper's files, blocks and copies",
    "hardware": "the paper's drives, with a source for each number",
    "scale": "k and bytes, where `whitewire plan` proposes others",
}  # fmt: skip
"""Keys that are still the template's, and what belongs there."""
RELATIVE = 0.1
MOST_RATIO = 20
"""A ratio above this number, or below its inverse, must be confirmed, because most are misread percentages."""
_KINDS = {"ratio": "ratio", "value": "threshold", "not_testable": "qualitative"}
_NEEDED = {
    "ratio": ("workload", "metric", "printed", "fabric", "over"),
    "value": ("workload", "metric", "printed", "fabric"),
    "not_testable": ("missing",),
}
_SUMMARY = "```{r}\n#| child: parts/summary.qmd\n"
"""The first chunk of a document, above which a draft says that it is one."""
EXPERIMENTS = """\
# The experiments {#sec-experiments}

```{r}
#| child: !expr experiment_parts()
```

"""
"""A figure for each experiment of the YAML, including later ones."""
Answers = dict[str, Any]
Metrics = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Begun:
    """The experiment for first claims on a workload; `parameters`: its own, or empty for the template's.

    `metrics`: metric of a claim → metrics of its test, of which the first judges.
    """

    id: str
    title: str
    metrics: Metrics
    parameters: str = ""
    scale: str = ""


_OF_TIME: Metrics = {"completion_time": ("completion_time_net", "completion_time")}
_OF_JOBS: Metrics = {**_OF_TIME, "throughput": ("throughput_net", "throughput")}
OF_FILES: Metrics = {name: (name,) for name in ("write_throughput", "read_throughput")}
ROWS = "size_bytes: 100 GB, block_size_bytes: 128 MiB, replication: 2"
_BYTES = "{k: 100, bytes: {smoke: 12 MB, quick: 24 MB, full: 48 MB}, splits: 6}"
FIRST_EXPERIMENTS = {
    "hdfs_put": Begun("ingest", "Four parallel puts", {name: (name,) for name in ("throughput", "completion_time")}),
    "testdfsio": Begun(
        "testdfsio", "TestDFSIO", {**OF_FILES, **_OF_TIME},
        "{size_bytes: 10 GB, block_size_bytes: 128 MiB, replication: 2, maps: 3}",
        "{k: 100, bytes: {smoke: 4 MB, quick: 8 MB, full: 16 MB}, splits: 4}",
    ),
    "teragen": Begun("teragen", "TeraGen", _OF_JOBS, f"{{{ROWS}, maps: 6}}", _BYTES),
    "terasort": Begun("terasort", "TeraSort", _OF_JOBS, f"{{{ROWS}, reduces: 3}}", _BYTES),
    "sort": Begun("sort", "Sort", _OF_JOBS, f"{{{ROWS}, reduces: 3}}", _BYTES),
    "wordcount": Begun("wordcount", "WordCount", _OF_JOBS, f"{{{ROWS}, reduces: 1}}", _BYTES),
}  # fmt: skip
"""Workloads that a claim may begin with; others are written into the paper by hand."""


def write_paper(answers: Answers, source: str) -> tuple[Path, Path]:
    """Write config/papers/<id>.yaml and paper/<id>.qmd; return both. `source` is where the answers come from.

    Raises UserError, and writes nothing, where an answer is wrong or one of the files is there.
    """
    _check(answers, source)
    if why := unfit_name(answers["id"], "papers"):
        raise UserError(f"{source}: id: found {quoted(answers['id'])}, {why}")
    paths = root() / "config" / "papers" / f"{answers['id']}.yaml", root() / "paper" / f"{answers['id']}.qmd"
    for path in paths:
        if path.exists():
            raise UserError(f"{shown(path)}: exists and is not overwritten; take another id")
    texts = paper_text(answers), document_text(answers)
    _try(texts[0], answers["id"], source)
    for path, text in zip(paths, texts, strict=True):
        atomic.write(path, text)
    return paths


def _check(answers: Answers, source: str) -> None:
    validate_by_schema(answers, "new-paper", source)
    fabrics = fabric_names(load_testbed(_TESTBED))
    exhibits = [exhibit["id"] for exhibit in answers["exhibits"]] + ["text"]
    for index, claim in enumerate(answers["claims"]):
        for key in _NEEDED[claim["form"]]:
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
            metrics = FIRST_EXPERIMENTS[claim["workload"]].metrics
            if claim["metric"] not in metrics:
                found = f"found {quoted(claim['metric'])}, expected {one_of(metrics)} of {claim['workload']}"
                raise UserError(f"{source}: claims[{index}].metric: {found}")
            try:
                number(claim)
            except ValueError as error:
                raise UserError(f"{source}: claims[{index}].printed: {error}") from None
    _check_links(answers, source)


def _check_links(answers: Answers, source: str) -> None:
    """UserError if claims on one workload call the same links by two names, which would make the same runs twice."""
    names = dict[tuple[str, str], str]()
    for index, claim in enumerate(answers["claims"]):
        for key in ("fabric", "over"):
            if claim["form"] == "not_testable" or key not in claim:
                continue
            name = claim[key]
            first = names.setdefault((claim["workload"], _links(name)), name)
            if first != name:
                found = f"found {quoted(name)}, whose links are those of {first} in a claim on {claim['workload']} too"
                raise UserError(f"{source}: claims[{index}].{key}: {found}; expected one name for both")


def _links(fabric: str) -> str:
    """Properties of a network of the emulated testbed."""
    return canonical(load_testbed(_TESTBED)["fabrics"][fabric])


def _try(text: str, name: str, source: str) -> None:
    """Raise the UserError of `whitewire validate` for the answers."""
    with tempfile.TemporaryDirectory(dir=temporary()) as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        testbed = load_testbed(_TESTBED)
        try:
            checked_paper(path, testbed)
        except UserError as error:
            raise UserError(str(error).replace(shown(path), source)) from None


# --- the paper --------------------------------------------------------------------------------------


def _kind_of(metric: str) -> str:
    """Whether a metric is a rate or a time, as in `printed`."""
    return printed.TIME if METRICS[metric].scaling == "time" else printed.RATE


def _ratio_of(claim: Mapping[str, Any]) -> PrintedRatio:
    """The ratio that a claim's printed number means. Raises ValueError for a number without a ratio, and for one with
    several or an unusual reading that `reads_as` does not confirm."""
    found = {str(each): each for each in printed.ratios(claim["printed"], _kind_of(claim["metric"]))}
    if said := claim.get("reads_as"):
        if said not in found:
            raise ValueError(f"found reads_as {quoted(said)}, expected {one_of(found)}{suggestion(said, found)}")
        return found[said]
    named = " or ".join(quoted(each) for each in found)
    if len(found) > 1:
        raise ValueError(f"found {quoted(claim['printed'])}, expected `reads_as` beside it, which says {named}")
    (ratio,) = found.values()
    if unusual(ratio):
        said = f"{quoted(claim['printed'])} reads as {ratio}, beyond {MOST_RATIO}"
        raise ValueError(f"{said}: if that is so, say `reads_as: {ratio}`")
    return ratio


def unusual(ratio: PrintedRatio) -> bool:
    """Whether a ratio is so far from 1 that it was probably misread."""
    return not 1 / MOST_RATIO <= ratio.low <= ratio.high <= MOST_RATIO


def number(claim: Mapping[str, Any]) -> tuple[float | str | list[float], str]:
    """Value and unit of a claim's printed number: `50 % faster` is (1.5, x), `118 MiB/s` is converted to MB/s, a range
    has two values. Raises ValueError without a sure reading."""
    if claim["form"] == "value":
        text, unit = claim["printed"], unit_of(claim["metric"])
        quantities.converted(text, unit)
        found = quantities.amount(text)
        return (found[0] if found and quantities.factor(found[1], unit) == 1 else text), unit
    ratio = _ratio_of(claim)
    ends = [int(end) if float(end).is_integer() else end for end in (ratio.low, ratio.high)]
    return ends[0] if ends[0] == ends[1] else ends, "x"


def _reading(claim: Mapping[str, Any]) -> str:
    """The reading of a claim's printed number: `"50 % faster" reads as 1.5 times`."""
    if claim["form"] == "ratio":
        return f"{quoted(claim['printed'])} reads as {_ratio_of(claim)}"
    unit = unit_of(claim["metric"])
    value = quantities.converted(claim["printed"], unit)
    return f"{quoted(claim['printed'])} reads as {numbers([value])[0]} {unit}"


def readings(answers: Answers) -> list[str]:
    """The readings of all claims with a number, by key."""
    measured = ((index, claim) for index, claim in enumerate(answers["claims"]) if claim["form"] != "not_testable")
    return [f"claims[{index}].printed: {_reading(claim)}" for index, claim in measured]


def paper_text(answers: Answers) -> str:
    """The YAML: the template's sections, except for those about its invented paper."""
    template = sections((TEMPLATE / "paper.yaml").read_text(encoding="utf-8"))
    measured = [claim for claim in answers["claims"] if claim["form"] != "not_testable"]
    letter = _letter(answers)
    own = {
        "id": f"id: {answers['id']} # the name of this file and of paper/{answers['id']}.qmd\n",
        **{key: f"{key}: {yaml_line(answers[key])}\n" for key in ("title", "publisher", "year")},
        "source": as_yaml({"source": answers["source"]}) if answers.get("source") else "",
        "finding": f"finding: {letter}-C01\n",
        "headline": f"headline: {letter}-C01\n\n",
        "testbed": "testbed:\n  not_stated: []\n\n",
        "exhibits": as_yaml({"exhibits": answers["exhibits"]}) + "\n",
        "values": "values:\n" + "".join(f"- {yaml_line(value)}\n" for value in _values(answers)) + "\n",
        "claims": as_yaml({"claims": list(_claims(answers))}) + "\n",
        **dict.fromkeys(("constants", "audit", "sweeps"), ""),
    }
    head = f"# {' '.join(answers['title'].split())}, as data. {_GO_ON}"
    parts = [head]
    for key, comment, body in template:
        if key in own:
            parts.append(own[key] if key in ("id", "source") or not own[key] else comment + own[key])
        elif measured and key == "experiments":
            parts += [comment, "experiments:\n", *_experiments(body, measured), "\n"]
        elif measured and key == "controls":
            parts += [comment, as_yaml({"controls": list(_controls(measured, letter))})]
        elif measured:
            parts.append(comment + _adapted(body, measured))
    return "".join(parts).rstrip() + "\n"


def sections(text: str) -> list[tuple[str, str, str]]:
    """(key, comment above it, its text) of each top-level key."""
    found = re.findall(r"((?:^#.*\n)*)^(\w+):(.*\n(?:^(?:[ \-].*)?\n)*)", text, re.MULTILINE)
    return [(key, comment, f"{key}:{body}") for comment, key, body in found]


def _by_workload(measured: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Begun, list[Mapping[str, Any]]]]:
    """Each workload's experiment, and the claims on it."""
    for name in dict.fromkeys(claim["workload"] for claim in measured):
        yield FIRST_EXPERIMENTS[name], [claim for claim in measured if claim["workload"] == name]


def _experiments(body: str, measured: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The template's experiment once for each workload."""
    template = body.removeprefix("experiments:\n").rstrip() + "\n"
    workloads = {begun.id: name for name, begun in FIRST_EXPERIMENTS.items()}
    for begun, claims in _by_workload(measured):
        text = template
        own = {"- id": begun.id, "  title": f"{begun.title} against link rate", "  workload": workloads[begun.id]}
        if begun.parameters:
            own["  parameters"] = f"{begun.parameters}\n  scale: {begun.scale}"
        for key, value in own.items():
            text = re.sub(rf"(?m)^{key}: .*$", f"{key}: {value}", text, count=1)
        yield _adapted(text, claims)


def _controls(measured: Sequence[Mapping[str, Any]], letter: str) -> Iterator[dict[str, Any]]:
    """Two A/A controls per workload: each end of its range of networks under the name of the other end."""
    ends = [
        (begun, begun.metrics[claims[0]["metric"]][0], names)
        for begun, claims in _by_workload(measured) for names in (_ends(claims), _ends(claims)[::-1])
    ]  # fmt: skip
    for place, (begun, metric, (name, really)) in enumerate(ends, start=1):
        yield {
            "id": f"{letter}-K{place:02d}", "title": f"{begun.title} under the name of {name}, on links of {really}",
            "metric": metric, "cell": {"experiment": begun.id, "where": {"fabric": name}}, "really": {"fabric": really},
        }  # fmt: skip


def _ends(claims: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The slowest and the fastest network that claims name, or another beside the only one."""
    named = sorted({claim[key] for claim in claims for key in ("fabric", "over") if key in claim}, key=gbit_per_s)
    slow, fast = named[0], named[-1]
    return (slow, fast) if slow != fast else (slow, "1gbe" if slow == "10gbe" else "10gbe")


def _adapted(body: str, claims: Sequence[Mapping[str, Any]]) -> str:
    """A section of the template with the networks that claims name, and its to-do comments."""
    used = {claim[key] for claim in claims for key in ("fabric", "over") if key in claim}
    listed = re.search(r"fabric: \[(.*)\]", body)
    if listed:
        same = set(map(_links, used))
        others = {name for name in listed[1].split(", ") if _links(name) not in same}
        every = sorted({*others, *used}, key=lambda name: (gbit_per_s(name), name))
        body = body.replace(listed[0], f"fabric: [{', '.join(every)}]")
    body = body.replace("two SATA drives per node (paper, Table 1)", "assumption: two SATA drives per node")
    for key, what in TO_DO.items():
        body = re.sub(rf"(?m)^(\s*){key}:", rf"\1# To do: {what}\n\1{key}:", body, count=1)
    swap = dict(zip(("1gbe", "10gbe"), _ends(claims), strict=True))
    return re.sub(r"(?<=fabric: )(?:1gbe|10gbe)\b", lambda match: swap[match[0]], body)


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
        metric = claim["metric"].replace("_", " ")
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
        if testable and claim["form"] == "ratio" and _ratio_of(claim).bound == printed.UP_TO:
            why += ", and which cells are tried, as the paper says up to (estimand maximum_ratio)"
        yield {
            "id": name, "statement": claim["statement"], "kind": _KINDS[claim["form"]],
            "basis": exhibit, "exhibits": [exhibit],
            "routes": ["emulated", "measured"] if testable else ["not_testable"],
            "why": why if testable else f"No testbed here has {claim['missing']}", "test": _test(claim, value),
        }  # fmt: skip


def _test(claim: Mapping[str, Any], value: str) -> dict[str, Any]:
    if claim["form"] == "not_testable":
        return {"estimand": "none", "missing": claim["missing"], "testbed": f"one with {claim['missing']}"}
    begun = FIRST_EXPERIMENTS[claim["workload"]]
    metric, *also = begun.metrics[claim["metric"]]
    own = {"metric": metric} | ({"also": also} if also else {})
    cells = {
        key: {"experiment": begun.id, "where": {"fabric": claim[key]}} for key in ("fabric", "over") if key in claim
    }
    expected = value.replace("-", "_")
    if claim["form"] == "value":
        over = {"constant": 1, "unit": unit_of(claim["metric"])}
        judged = {"relation": "within", "expected": expected, "relative": RELATIVE}
        return {"estimand": "share", **own, "cell": cells["fabric"], "over": over, **judged}
    sides = {"numerator": cells["fabric"], "denominator": cells["over"]}
    return {"estimand": "ratio", **own, **sides, **_asks(_ratio_of(claim), expected), "no_effect": 1}


def _asks(ratio: PrintedRatio, expected: str) -> dict[str, Any]:
    """Test of a ratio: a number within a tolerance, a range between its ends, or a bound."""
    if ratio.low != ratio.high:
        ends = {"lower": ratio.low, "upper": ratio.high}
        return {"relation": "within", "expected": f"({expected}[0] + {expected}[1]) / 2", **ends}
    if ratio.bound in (printed.MORE, printed.FEWER):
        return {"relation": "above" if ratio.bound == printed.MORE else "below", "expected": expected}
    return {"relation": "within", "expected": expected, "relative": RELATIVE}


def as_yaml(value: Any) -> str:
    """A mapping as YAML: what holds no other mapping or list in one line."""
    return yaml.safe_dump(value, default_flow_style=None, width=10**6, sort_keys=False, allow_unicode=True)


# --- the document -----------------------------------------------------------------------------------


def document_text(answers: Answers) -> str:
    """The document: the template's general parts, and a section for each exhibit."""
    template = (TEMPLATE / "paper.qmd").read_text(encoding="utf-8")
    front, *parts = re.split(r"^(?=# )", template, flags=re.MULTILINE)
    by_name = {re.search(r"\{#sec-(\w+)\}", part)[1]: part for part in parts}  # type: ignore[index]
    opening = re.sub(r"^`r curve_sentence\(.*\n\n", "", front[front.index("```{r}") :], flags=re.MULTILINE)
    title = f"---\ntitle: {_quoted(answers['title'])}\nsubtitle: {_quoted(answers['publisher'] + ', measured again')}\n"
    title += f'eyebrow: "Whitewire report · {answers["id"]}"\nbibliography: references.bib\n---\n\n'
    cited = f" [@{answers['id']}]" if answers.get("source") else ""
    verdicts = re.search(r"```\{r\}\n#\| child: parts/verdicts.qmd\n```\n", by_name["paper"])
    claimed = f"# What the paper claimed {{#sec-paper}}\n\nThe paper{cited} says: `r claims_sentence()`\n\n"
    opening = opening.replace(_SUMMARY, f"`r draft_note()`\n\n{_SUMMARY}")
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
    """Limits of the paper's own runs; the table of drives where there are runs."""
    if measured := [claim for claim in answers["claims"] if claim["form"] != "not_testable"]:
        first = FIRST_EXPERIMENTS[measured[0]["workload"]].id
        template = template.replace(f'"{FIRST_EXPERIMENTS["hdfs_put"].id}"', f'"{first}"')
        return EXPERIMENTS + re.sub(r"^- \*\*No adapter\..*\n", "", template, flags=re.MULTILINE)
    closing = template[template.rindex("```{r}") :]
    return "# Limitations {#sec-limits}\n\nNothing is measured yet.\n\n" + closing


def _quoted(text: str) -> str:
    """Text for the front matter: nothing in it is markup or code."""
    plain = " ".join(text.split()).replace("`", "'")
    return yaml_line([re.sub(r"([\\*_{}\[\]#+!|<>~^$@])", r"\\\1", plain) + "\u200b"])[1:-1].replace("\u200b", "")


# --- asking -----------------------------------------------------------------------------------------


def ask() -> Answers:
    """The answers, asked one by one. An empty answer takes the value in brackets, or ends a list."""
    answers: Answers = {"id": _one("Id (lower case, digits and hyphens)", pattern="[a-z0-9][a-z0-9-]*")}
    answers |= {"title": _one("Title as published"), "publisher": _one("Publisher")}
    year = _one("Year, or nothing", pattern=r"(\d{4})?")
    answers["year"] = int(year) if year else None
    answers |= _asked_source()
    answers["exhibits"] = []
    name = _one("First exhibit (fig1, table1)", pattern="[a-z]+[0-9]+[a-z]?")
    while name:
        answers["exhibits"].append({"id": name, "caption": _one("  What it shows")})
        name = _one("Next exhibit (fig1, table1), or nothing", pattern=".*")
    exhibits = [exhibit["id"] for exhibit in answers["exhibits"]] + ["text"]
    fabrics = fabric_names(load_testbed(_TESTBED))
    answers["claims"] = []
    statement = _one("First claim in one sentence")
    while statement:
        answers["claims"].append({"statement": statement, **_asked_claim(exhibits, fabrics)})
        statement = _one("Next claim in one sentence, or nothing", pattern=".*")
    return answers


def _one(question: str, default: str = "", pattern: str = r".+", among: Collection[str] = ()) -> str:
    """One answer, asked until it has the pattern and is among the words that are allowed. Raises UserError."""
    while True:
        try:
            said = input(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
        except EOFError:
            raise UserError("new-paper: the answers ended before the last question") from None
        if re.fullmatch(pattern, said) and (not among or said in among):
            return said
        expected = ", ".join(among) or f"text like {pattern}"
        print(f"  found {quoted(said)}, expected {expected}{suggestion(said, among)}")


def _asked_source() -> Answers:
    """The key `source`; nothing where neither authors nor an address are known."""
    authors = _one("Authors, as Family, Given; Family, Given; or nothing", pattern=".*")
    source = {"url": _one("Address, or nothing", pattern=".*"), "doi": _one("DOI, or nothing", pattern=".*")}
    source = {key: value for key, value in source.items() if value}
    if source:
        source["accessed"] = _one("Read there on (year-month-day)", pattern=r"\d{4}-\d{2}-\d{2}")
    listed = [name.strip() for name in authors.split(";") if name.strip()]
    return {"source": ({"authors": listed} if listed else {}) | source} if listed or source else {}


def _asked_claim(exhibits: Collection[str], fabrics: Collection[str]) -> Answers:
    """What a claim is besides its sentence."""
    claim: Answers = {"form": _one("  Its form: ratio, value or not_testable", among=list(_NEEDED))}
    claim["exhibit"] = _one("  Exhibit that shows it", "text", among=exhibits)
    if claim["form"] == "not_testable":
        return claim | {"missing": _one("  What the testbed lacks")}
    claim["workload"] = _one(f"  Its workload ({', '.join(FIRST_EXPERIMENTS)})", among=list(FIRST_EXPERIMENTS))
    claim |= _asked_number(claim)
    claim["fabric"] = _one("  On which network", "10gbe", among=fabrics)
    if claim["form"] == "ratio":
        claim["over"] = _one("  Over which network", "1gbe", among=fabrics)
    return claim


def _asked_number(claim: Mapping[str, Any]) -> Answers:
    """A printed number and its meaning, asked until they have a reading, which is confirmed."""
    metrics = list(FIRST_EXPERIMENTS[claim["workload"]].metrics)
    while True:
        said = _one("  The number as printed, with its unit (6x, 50 % faster, 118 MiB/s)")
        likely = next(
            (metric for metric in metrics if _has_reading({**claim, "printed": said, "metric": metric})), metrics[0]
        )
        given = {"printed": said, "metric": _one(f"  Of what: {', '.join(metrics)}", likely, among=metrics)}
        try:
            return given | _confirmed({**claim, **given})
        except ValueError as error:
            print(f"  {error}")


def _has_reading(claim: Mapping[str, Any]) -> bool:
    with suppress(ValueError):
        return bool(
            _reading(claim) if claim["form"] == "value" else printed.ratios(claim["printed"], _kind_of(claim["metric"]))
        )
    return False


def _confirmed(claim: Mapping[str, Any]) -> Answers:
    """`reads_as` for a number with several readings or an unusual one. Raises ValueError if none is meant."""
    again = ValueError("then as 1.6x, 60 % faster or 60 % less time, as the paper means it")
    found: list[PrintedRatio] = []
    if claim["form"] == "value":
        again = ValueError("then with the unit that the paper means, such as 118 MiB/s")
    else:
        found = printed.ratios(claim["printed"], _kind_of(claim["metric"]))
    if not found or (len(found) == 1 and not unusual(found[0])):
        chosen, reads_as = _one(f"  {_reading(claim)}, right?", "yes", among=("yes", "no")), {}
    else:
        listed = {str(place): str(each) for place, each in enumerate(found, start=1)}
        named = ", ".join(f"{place}: {each}" for place, each in listed.items())
        chosen = _one(f"  {quoted(claim['printed'])} may read as {named}; which, or no?", among=[*listed, "no"])
        reads_as = {"reads_as": listed.get(chosen, "")}
    if chosen == "no":
        raise again
    return reads_as
