"""From a Quarto document and the tables of a results folder to a report in HTML and PDF.

Quarto renders where it is installed. Where it is not, the same document goes through knitr, pandoc and typst with the
same templates, numbering and cross-references. An unresolved reference or a missing image is an error either way.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from whitewire import atomic, paths
from whitewire.analysis.claims import VERDICTS
from whitewire.description.drafts import open_to_dos
from whitewire.description.files import validate_by_schema
from whitewire.description.measures import read_converted
from whitewire.description.project import document_path, is_paper, load_config
from whitewire.errors import Faults, UserError
from whitewire.install.quarto import quarto_lacks
from whitewire.progress import Pulse
from whitewire.records import checked, links
from whitewire.records.checked import TESTBED_TABLES, parse_table, table_faults
from whitewire.records.links import LINKS_FOLDER
from whitewire.records.samples import Torn
from whitewire.records.trust import TRUST_FOLDER, TRUST_RECORD, read_trust_unchecked
from whitewire.report import agreement, citation, comparison, provenance
from whitewire.report.badge import write_badges
from whitewire.report.provenance import figure_records
from whitewire.text import quoted
from whitewire.tidy import form
from whitewire.workloads import METRICS, workload_of

_FORMATS = ("html", "pdf")
"""Formats of a page; `md`, plain Markdown, is made on demand only."""
BRIEF = "brief.pdf"
"""A paper's brief: the answer, the claims with their verdicts, and what is not testable, as a PDF of its own."""
EVERY_FORMAT = (*_FORMATS, "md")
PROJECT = paths.HOME
_PAPER = PROJECT / "paper"
INDEX, TESTBED, _CALIBRATION = "index", "testbed", "calibration"
"""The start page, the page of a testbed's links, drives and hosts, and the calibration's page; no paper has these
names."""
DAMAGED = "damaged.json"
"""The start page's file of papers that it leaves out, with their faults."""
DRAFTS = "to-do.json"
"""The documents' file of papers that still have parts of the template."""
_ANEW = "make the tables anew with `.venv/bin/whitewire tidy` and `analyse`"

# What Quarto only warns of: something that a document refers to and that is not there. Filters end the conversion for
# references and images.
QUARTO_FAULTS = re.compile(r"Citeproc: citation \S+ not found|Could not fetch resource", re.IGNORECASE)
_VERDICT_COLUMNS = ("paper", "reason", *comparison.JUDGED_COLUMNS)
"""Columns that analysis/verdicts.csv must have."""
OWN_TEMPLATE = '<meta name="generator" content="Whitewire">'
"""In every page that was made with the project's template."""
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def render_document(
    qmd: Path | str,
    results_dir: Path | str,
    output_dir: Path | str,
    formats: Iterable[str] = _FORMATS,
    pages: Mapping[str, str] | None = None,
) -> list[Path]:
    """Render one document; return the files written, one per format.

    `results_dir` is the folder of one testbed (`results/<testbed>`), `output_dir` that of the reports. `pages`: name →
    address of linked pages (default: the start page and the reports beside it). Raises UserError; LeftOut for a start
    page that is made without papers whose tables are damaged.
    """
    qmd, results_dir, output_dir = (
        Path(qmd).resolve(),
        Path(results_dir).resolve(),
        Path(output_dir).resolve(),
    )
    formats = tuple(formats)
    _check_sources(qmd, results_dir)
    sound, damaged = _papers_of(results_dir) if qmd.stem == INDEX else ({}, {})
    papers = _papers_as_read(paths.root() / "config", qmd.stem)
    if pages is None:
        pages = _beside(results_dir, qmd.stem, (name.removesuffix(".yaml") for name in papers))
    output_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "WHITEWIRE_RESULTS": str(results_dir),
        "WHITEWIRE_PAPER": qmd.stem,
        "WHITEWIRE_PAGES": _listed(pages),
        "WHITEWIRE_START": paths.start_command(),
    }
    pulse = Pulse(qmd.stem)
    with tempfile.TemporaryDirectory(prefix="render-", dir=paths.temporary()) as folder, pulse.going():
        scratch = Path(folder)
        environment |= _inputs(qmd.stem, papers, scratch)
        own = paths.root().resolve() / "paper"
        if own != _PAPER and own.is_dir() and qmd.parent in (own, _PAPER):
            qmd = _beside_ours(own, scratch / "sources") / qmd.name
        if qmd.stem == INDEX:
            beside = agreement.beside_reference(results_dir, scratch / "reference", sound)
            (beside / DAMAGED).write_text(json.dumps(damaged), encoding="utf-8")
            environment["WHITEWIRE_REFERENCE"] = str(beside)
        made = _rendered(qmd, scratch, formats, environment, pulse)
        if "html" in made:
            _with_sources(made["html"], qmd.stem, scratch / "reports")
        if qmd.stem != INDEX:
            _publish_folder(scratch / "reports" / "data" / qmd.stem, output_dir / "data" / qmd.stem)
        _publish_folder(_figures(scratch), output_dir / "figures" / qmd.stem)
        if is_paper(qmd.stem):
            write_badges(_verdicts_of(results_dir, qmd.stem), papers.get(f"{qmd.stem}.yaml", {}), scratch / "badges")
            _publish_folder(scratch / "badges", output_dir / "badges" / qmd.stem)
        # Each in one step, so that a reader never opens half a report.
        published = [atomic.write(output_dir / f"{qmd.stem}.{name}", made[name].read_bytes()) for name in formats]
    if damaged:
        raise LeftOut([fault for faults in damaged.values() for fault in faults])
    return published


def _check_sources(qmd: Path, results: Path) -> None:
    """UserError for a missing document, or tables that are missing or damaged; the start page leaves out papers with
    damaged verdicts."""
    if not qmd.is_file():
        raise UserError(f"no such document: {qmd}")
    if not results.is_dir():
        raise UserError(f"no results in {results}: run the measure, tidy and analysis stages first")
    own = results / qmd.stem
    verdicts = [] if qmd.stem in (INDEX, TESTBED) else sorted(results.glob("*/analysis/verdicts.csv"))
    if is_paper(qmd.stem):
        verdicts = [_verdicts_of(results, qmd.stem)]
        if not verdicts[0].is_file():
            again = f"{paths.start_command()} PAPERS={qmd.stem}"
            raise UserError(f"no verdicts on {qmd.stem} in {results}: `{again}` makes them")
    if qmd.stem == TESTBED:
        _check_links(results)
    if faults := [*(table_faults(own / "tidy") or ()), *(checked.analysis(own / "analysis") or ())]:
        raise Faults([f"{fault}; {_ANEW}" for fault in faults])
    for path in verdicts:
        check_verdicts(path)


def _verdicts_of(results: Path, paper: str) -> Path:
    return results / paper / "analysis" / "verdicts.csv"


def _inputs(document: str, papers: Mapping[str, dict[str, Any]], scratch: Path) -> dict[str, str]:
    """Write what a document reads besides tables; return the variables of its environment that name it."""
    _write_papers(papers, scratch / "config")
    _write_drafts(paths.root() / "config", scratch / "config")
    cited = scratch / "citations.bib"
    cited.write_text(citation.entries(papers.values()), "utf-8")
    return {
        "WHITEWIRE_CITATIONS": str(cited),
        "WHITEWIRE_REPORTS": str(scratch / "reports"),
        "WHITEWIRE_CONFIG": str(scratch / "config"),
        "WHITEWIRE_METRICS": str(_metrics_file(papers.get(f"{document}.yaml", {}), scratch)),
    }


def _rendered(
    qmd: Path, scratch: Path, formats: Sequence[str], environment: dict[str, str], pulse: Pulse
) -> dict[str, Path]:
    """The file of each format, by Quarto or, where it cannot render, by pandoc, which makes every brief."""
    if why_not := quarto_lacks():
        if shutil.which("quarto"):
            pulse.say(f"not with Quarto: {why_not}")
        return _with_pandoc(qmd, scratch, formats, environment, pulse)
    made = _with_quarto(qmd, scratch, [name for name in formats if name != BRIEF], environment, pulse)
    if BRIEF in formats:
        (scratch / "brief").mkdir()
        made |= _with_pandoc(qmd, scratch / "brief", [BRIEF], environment, pulse)
    return made


class LeftOut(Faults):
    """Faults of papers that the start page leaves out; the page is made."""


def _papers_of(results: Path) -> tuple[dict[str, comparison.Results], dict[str, list[str]]]:
    """Papers of a testbed's results with verdicts that can be shown, and the faults of the others."""
    sound, faults = comparison.sound(results)
    damaged = {name: [f"{fault}; {_ANEW}" for fault in own] for name, own in faults.items()}
    for path in sorted(results.glob("*/analysis/verdicts.csv")):
        try:
            check_verdicts(path)
        except UserError as error:
            sound.pop(name := path.parent.parent.name, None)
            damaged.setdefault(name, list(error.lines))
    return sound, damaged


def _check_links(results: Path) -> None:
    """UserError if the tables of links or trust for a testbed's page are missing or have changed since they were
    written."""
    folder, of_trust = results / LINKS_FOLDER, results / TRUST_FOLDER
    if not (folder / TESTBED_TABLES / "ways.csv").is_file():
        raise UserError(f"no links in {paths.shown(folder)}: `make testbed` measures them")
    links.read_links_unchecked(folder)
    if (of_trust / TRUST_RECORD).exists():
        read_trust_unchecked(of_trust)
    for tables, again in ((folder / TESTBED_TABLES, "tidy-links"), (of_trust / TESTBED_TABLES, "trust-tables")):
        if faults := table_faults(tables):
            anew = f"make the tables anew with `.venv/bin/whitewire {again}`"
            raise Faults([f"{fault}; {anew}" for fault in faults])


def _beside(results: Path, own: str, papers: Iterable[str]) -> dict[str, str]:
    """Links of a page: the start page and the reports of `papers`; for papers without results, their cards on the start
    page."""
    if own == INDEX:
        return {}
    made = papers_with_results(results)
    others = sorted({*made, *papers} - {own})
    reports = {name: f"{name}.html" if name in made else f"{INDEX}.html#paper-{name}" for name in others}
    return {"All papers": f"{INDEX}.html", **reports}


def _listed(pages: Mapping[str, str]) -> str:
    """Pages as the documents' filter reads them: address and name in each line."""
    return "".join(f"{quote(address, safe='/#')}\t{name}\n" for name, address in pages.items())


def papers_lacking(results: Path) -> list[str]:
    """Papers of config.yaml without verdicts in a testbed's results."""
    return [name for name in load_config()["papers"] if not (results / name / "analysis" / "verdicts.csv").is_file()]


def _metrics_file(raw: Mapping[str, Any], folder: Path) -> Path:
    """Write a file with the metrics of each experiment, against which a document checks names, and the words of metrics
    whose name is not used in sentences; return its path."""
    experiments = {each["id"]: each["workload"] for each in raw.get("experiments", [])}
    controls = {each["id"]: experiments[each["cell"]["experiment"]] for each in raw.get("controls", [])}
    own = {name: list(workload_of(workload).metric_names) for name, workload in (experiments | controls).items()}
    words = {each.name: each.words for each in METRICS.values() if each.words}
    path = folder / "metrics.json"
    path.write_text(json.dumps({"of": own, "words": words}))
    return path


def check_verdicts(path: Path) -> None:
    """UserError for a table of verdicts that is cut off or damaged, which would otherwise look like a table without
    claims."""
    how = f"; `{paths.start_command()} PAPERS={path.parent.parent.name}` makes it anew"
    try:
        rows = parse_table(form.text_of(path.read_bytes(), path.name), _VERDICT_COLUMNS)
    except OSError as error:
        raise UserError(f"{paths.shown(path)}: cannot be read: {error.strerror}") from None
    except Torn as torn:
        raise UserError(f"{paths.shown(path)}: {torn}{how}") from None
    if not rows:
        raise UserError(f"{paths.shown(path)}: found no row, expected one for each claim{how}")
    for number, row in enumerate(rows, start=2):
        if row["verdict"] not in VERDICTS:
            found, expected = quoted(row["verdict"]), f"one of {', '.join(VERDICTS)}"
            raise UserError(f"{paths.shown(path)}: line {number}, verdict: found {found}, expected {expected}{how}")
    claims = Counter(row["claim"] for row in rows)
    if twice := [claim for claim, count in claims.items() if count > 1]:
        raise UserError(f"{paths.shown(path)}: claim: found {quoted(twice[0])} twice, expected it once{how}")


def _papers_as_read(config: Path, own: str) -> dict[str, dict[str, Any]]:
    """The papers' YAML by file, as the analysis reads it: with amounts converted.

    UserError for a fault in the document's own paper. Another paper with a fault is reduced to its name, because it is
    no reason against this report and nobody has checked the rest.
    """
    found = {}
    for path in sorted((config / "papers").glob("*.yaml")):
        try:
            found[path.name] = read_converted(path)
            validate_by_schema(found[path.name], "paper", path)
        except UserError:
            if path.stem == own:
                raise
            found[path.name] = {"id": path.stem, "title": path.stem}
    return found


def _beside_ours(documents: Path, folder: Path) -> Path:
    """A copy of another project's documents, with the functions and parts that all documents read."""
    shutil.copytree(_PAPER, folder, ignore=shutil.ignore_patterns(".quarto", "_site", "*_files", "*_cache"))
    shutil.copytree(documents, folder, dirs_exist_ok=True)
    return folder


def _write_papers(papers: Mapping[str, dict[str, Any]], target: Path) -> None:
    """The papers for documents to read."""
    (target / "papers").mkdir(parents=True)
    for name, data in papers.items():
        (target / "papers" / name).write_text(yaml.dump(data, Dumper=_Quoted, sort_keys=False), "utf-8")


def _write_drafts(config: Path, target: Path) -> None:
    """Remaining tasks of each draft paper, which its YAML as read does not contain."""
    found = {path.stem: list(dict.fromkeys(what for _, what in open_to_dos(path)))
             for path in sorted((config / "papers").glob("*.yaml"))}  # fmt: skip
    (target / DRAFTS).write_text(json.dumps({name: open_ for name, open_ in found.items() if open_}), "utf-8")


class _Quoted(yaml.SafeDumper):
    """Quotes all text: R takes `y` for true."""


_Quoted.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def bibtex_of_papers() -> str:
    """The papers' own entries of the bibliography, as BibTeX, without papers that have a fault."""
    return citation.entries(_papers_as_read(paths.root() / "config", "").values())


def formats_of(page: str) -> tuple[str, ...]:
    """Outputs of a page: a paper's report has a brief beside it."""
    return {INDEX: ("html",), TESTBED: _FORMATS, _CALIBRATION: _FORMATS}.get(page, (*_FORMATS, BRIEF))


def document(paper: str) -> Path:
    """The Quarto document of a paper, beside the configuration in use; of other documents, Whitewire's own."""
    qmd = document_path(paper) if document_path(paper).is_file() else _PAPER / f"{paper}.qmd"
    if not qmd.is_file():
        known = ", ".join(sorted(path.stem for path in _PAPER.glob("*.qmd") if path.stem != INDEX))
        raise UserError(f"no document for paper '{paper}': there are {known or 'none'}")
    return qmd


def papers_with_results(results: Path) -> list[str]:
    """Papers with verdicts in a testbed's results, and a document."""
    found = [path.parent.parent.name for path in sorted(results.glob("*/analysis/verdicts.csv"))]
    return [paper for paper in found if document_path(paper).is_file() or (_PAPER / f"{paper}.qmd").is_file()]


def _with_sources(page: Path, document: str, reports: Path) -> None:
    """Inline the page's drawings, with their data, code and rule; data without a link become files too."""
    folder = reports / "provenance"
    figures = figure_records(folder)
    text = provenance.inlined(page.read_text(encoding="utf-8"))
    rules = provenance.rules_of(PROJECT, document)
    text = provenance.with_sources(text, document, figures, folder, rules, files=document != INDEX)
    page.write_text(text, encoding="utf-8")
    for label in figures:
        file = provenance.data_file(document, label)
        if f'data-file="{file}"' in text:
            (reports / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / f"{label}.csv", reports / file)


def _publish_folder(made: Path, target: Path) -> None:
    made.mkdir(parents=True, exist_ok=True)
    with atomic.folder(target) as part:
        shutil.copytree(made, part, dirs_exist_ok=True)


def _figures(scratch: Path) -> Path:
    """The document's figures as PNG, for pages that show them one by one."""
    import typst

    folder = scratch / "png"
    drawn = sorted(scratch.rglob("fig-*.svg"))
    if not drawn:
        return folder
    folder.mkdir()
    # A figure's name is its chunk's label; JSON's quotes and escapes are those of Typst.
    names = (json.dumps(str(path.relative_to(scratch)), ensure_ascii=False) for path in drawn)
    pages = "\n#pagebreak()\n".join(f"#image({name}, width: 18cm)" for name in names)
    source = scratch / "figures.typ"
    source.write_text(f"#set page(width: auto, height: auto, margin: 0pt, fill: white)\n{pages}\n")
    typst.compile(str(source), output=str(folder / "{p}.png"), root=str(scratch), format="png", ppi=110)
    for number, path in enumerate(drawn, start=1):
        written = next(name for name in folder.glob("*.png") if name.stem.isdigit() and int(name.stem) == number)
        written.rename(folder / f"{path.stem.removeprefix('fig-').removesuffix('-1')}.png")
    return folder


def _with_quarto(
    qmd: Path, scratch: Path, formats: Sequence[str], environment: dict[str, str], pulse: Pulse
) -> dict[str, Path]:
    """In a copy of the documents' folder; what Quarto keeps between runs goes into `scratch`, not into the home."""
    project = scratch / "paper"
    shutil.copytree(qmd.parent, project, ignore=shutil.ignore_patterns(".quarto", "_site", "*_files", "*_cache"))
    version = subprocess.run(["quarto", "--version"], capture_output=True, text=True).stdout.strip()
    environment["WHITEWIRE_RENDERER"] = f"Quarto {version}"
    for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "DENO_DIR"):
        environment[name] = str(scratch / name.lower())
        Path(environment[name]).mkdir()
    made = {}
    for name in formats:
        target = {"html": "html", "pdf": "typst", "md": "gfm"}[name]
        pulse.say(f"Quarto {version} makes {name.upper()}")
        argv = ["quarto", "render", qmd.name, "--to", target]
        log = _run(argv, project, environment, what=qmd.name)
        fault = QUARTO_FAULTS.search(log)
        if fault:
            line = next(line for line in log.splitlines() if fault.group(0) in line)
            raise UserError(f"{qmd.name}: {line.strip()}")
        found = [*project.rglob(f"{qmd.stem}.{name}")]
        if not found:
            raise UserError(f"{qmd.name}: Quarto finished without writing {qmd.stem}.{name}")
        made[name] = found[0]
        if name == "html" and (qmd.parent / "_quarto.yml").exists() and OWN_TEMPLATE not in found[0].read_text("utf-8"):
            raise UserError(f"{qmd.name}: Quarto {version} did not read paper/_quarto.yml")
    return made


# ---------------------------------------------------------------------------------- knitr, pandoc, typst


def _with_pandoc(
    qmd: Path, scratch: Path, formats: Sequence[str], environment: dict[str, str], pulse: Pulse
) -> dict[str, Path]:
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise UserError("neither Quarto nor R is installed: `make doctor` says how to get them")
    pandoc = _pandoc()
    environment["WHITEWIRE_RENDERER"] = f"knitr, pandoc {_pandoc_version(pandoc)} and typst {_typst_version()}"
    markdown = scratch / f"{qmd.stem}.md"
    pulse.say("R runs the document's code")
    _run(
        [rscript, "--vanilla", str(_PAPER / "knit.R"), qmd.name, str(markdown)],
        qmd.parent,
        environment,
        what=qmd.name,
    )
    pulse.say(f"pandoc and typst make {' and '.join(map(str.upper, formats))}")
    (scratch / "made").mkdir()
    made = {name: scratch / "made" / f"{qmd.stem}.{name}" for name in formats}
    write = {"html": _to_html, "pdf": _to_pdf, BRIEF: _to_brief, "md": _to_markdown}
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(write[n], pandoc, markdown, qmd.parent, made[n], environment) for n in formats]
    for job in jobs:
        job.result()
    return made


def _pandoc_options(pandoc: str, markdown: Path, sources: Path) -> list[str]:
    filters = _PAPER / "filters"
    return [
        pandoc,
        markdown.name,
        "--from=markdown-tex_math_dollars",
        "--standalone",
        "--fail-if-warnings",
        f"--resource-path={markdown.parent}{os.pathsep}{sources}",
        f"--lua-filter={filters / 'crossref.lua'}",
        f"--lua-filter={filters / 'whitewire.lua'}",
        "--citeproc",
        f"--csl={_PAPER / 'references.csl'}",
        "--metadata=link-citations:true",
        "--toc",
    ]


def _to_html(pandoc: str, markdown: Path, sources: Path, target: Path, environment: dict[str, str]) -> None:
    templates = _PAPER / "templates"
    options = [
        "--to=html5",
        "--embed-resources",
        "--wrap=none",
        "--toc-depth=3",
        f"--template={templates / 'report.html'}",
        f"--css={templates / 'report.css'}",
        f"--output={target}",
    ]
    argv = _pandoc_options(pandoc, markdown, sources) + options
    _run(argv, markdown.parent, environment, what=f"{markdown.stem}.qmd: pandoc")


def _to_brief(pandoc: str, markdown: Path, sources: Path, target: Path, environment: dict[str, str]) -> None:
    _to_pdf(pandoc, markdown, sources, target, environment | {"WHITEWIRE_BRIEF": "1"})


def _to_pdf(pandoc: str, markdown: Path, sources: Path, target: Path, environment: dict[str, str]) -> None:
    import typst

    source = target.parents[1] / f"{target.stem}.typ"  # beside the figures
    options = ["--to=typst", f"--template={_PAPER / 'templates' / 'report.typ'}", f"--output={source}"]
    argv = _pandoc_options(pandoc, markdown, sources) + options
    _run(argv, markdown.parent, environment, what=f"{markdown.stem}.qmd: pandoc")
    try:
        typst.compile(str(source), output=str(target), root=str(markdown.parent))
    except Exception as error:  # the binding raises its own type, whose name changed between releases
        raise UserError(f"{markdown.stem}: typst: {error}") from error


def _to_markdown(pandoc: str, markdown: Path, sources: Path, target: Path, environment: dict[str, str]) -> None:
    template = _PAPER / "templates" / "report.md"
    options = ["--to=gfm", "--wrap=none", f"--template={template}", f"--output={target}"]
    argv = _pandoc_options(pandoc, markdown, sources) + options
    _run(argv, markdown.parent, environment, what=f"{markdown.stem}.qmd: pandoc")


def documentation(markdown: Path) -> Path:
    """Convert a generated page of documentation to HTML, beside its Markdown. Raises UserError."""
    target = markdown.with_suffix(".html")
    argv = [_pandoc(), markdown.name, "--from=gfm", "--to=html5", "--standalone", "--variable=maxwidth:90em",
            f"--metadata=pagetitle:{markdown.stem}", f"--output={target}"]  # fmt: skip
    _run(argv, markdown.parent, dict(os.environ), what=f"{markdown.name}: pandoc")
    return target


def _pandoc() -> str:
    """A pandoc of version 3 or newer: the one on the PATH, else the one of the Python package."""
    found = shutil.which("pandoc")
    if found and _pandoc_version(found).split(".")[0].isdigit() and int(_pandoc_version(found).split(".")[0]) >= 3:
        return found
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path())
    except (ImportError, OSError) as error:
        raise UserError("pandoc 3 is missing: `make setup` installs it with the Python packages") from error


def _pandoc_version(pandoc: str) -> str:
    words = subprocess.run([pandoc, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[1] if len(words) > 1 else "unknown"


def _typst_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("typst")
    except PackageNotFoundError as error:
        raise UserError("typst is missing: `make setup` installs it with the Python packages") from error


def _run(argv: list[str], folder: Path, environment: dict[str, str], what: str) -> str:
    """The output of a command. UserError with the reason, after `what`, if it fails."""
    done = subprocess.run([*paths.KILLED_WITH_THIS, *argv], cwd=folder, env=environment, capture_output=True, text=True)
    log = ESCAPES.sub("", done.stdout + done.stderr).replace(f"{folder}{os.sep}", "")
    if done.returncode != 0:
        raise UserError(f"{what}: {_reason(log)}")
    return log


def _reason(log: str) -> str:
    """The fault in the log of R, pandoc or Quarto, as one line."""
    lines = [line.rsplit("\r", 1)[-1].strip() for line in log.splitlines()]
    own = [line.split("crossref: ", 1)[1] for line in lines if "crossref: " in line]
    if own:
        return own[0]
    if reason := _reason_of_r(lines):
        return reason
    warned = [line for line in lines if line.startswith("[WARNING]")]
    if warned:
        return warned[0].removeprefix("[WARNING]").strip()
    start = next((i for i, line in enumerate(lines) if line.startswith(("Error", "ERROR", "error"))), None)
    shown = lines[start : start + 3] if start is not None else [line for line in lines if line][-3:]
    return " ".join(filter(None, shown)) or "it ended without a message"


def _reason_of_r(lines: Sequence[str]) -> str:
    """R's error with the lines of the document that it came from; empty where R said none."""
    start = next((i for i, line in enumerate(lines) if re.match(r"Error( in .*)?:", line + ":")), None)
    place = next((match[1] for line in lines if (match := re.match(r"Quitting from (lines? [\d-]+)", line))), "")
    if start is None or not place:
        return ""
    message = []
    for line in lines[start:]:
        if line.startswith(("Calls:", "Backtrace:", "In addition:", "Execution halted", "Quitting from")):
            break
        message.append(line)
    text = re.sub(r"^Error( in .*?)? ?: ", "", " ".join(filter(None, message)))
    missing = next((line for line in lines if line.startswith("cannot open file ")), "")
    return f"{place}: {missing or text}"
