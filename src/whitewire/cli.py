"""The command `whitewire`: one subcommand a stage, each a thin call of its module."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from whitewire import __version__
from whitewire.errors import Faults, PlainOutput, UserError, of_system

TRACEBACK, UNEXPECTED = "WHITEWIRE_TRACEBACK", 70
"""Environment variable that lets an unexpected error end in its traceback; without it, the error's exit status."""
NO_ENVIRONMENT = 3
"""Exit status of `scripts/software --folder` outside a rule's environment and image."""
RECORD = "record"
"""Given in place of a part, it makes `links` join all measured parts into one record."""


class Subcommand(Protocol):
    """A function below: its name is the subcommand's, its docstring the help; it may return an exit status."""

    __name__: str

    def __call__(self, args: argparse.Namespace, /) -> int | None: ...


def validate(args: argparse.Namespace) -> None:
    """Check every file that a run would use, and that this machine can do it; say what each paper's claims ask for."""
    from whitewire.analysis.claims import kinds_said
    from whitewire.description.drafts import open_to_dos
    from whitewire.description.project import document_path
    from whitewire.description.testbed import load_testbed
    from whitewire.install.doctor import preflight
    from whitewire.paths import shown
    from whitewire.workflow import documents
    from whitewire.workflow.plan import Plan, outlook_of

    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    if left_out := documents.check([(paper, document_path(name)) for name, paper in plan.described.items()]):
        print(f"whitewire: {left_out}", file=sys.stderr)
    preflight(testbed)
    for name, lines in plan.left_out.items():
        for line in lines:
            print(f"whitewire: {name}: left out: {line}", file=sys.stderr)
    print(outlook_of(plan, testbed), flush=True)
    for paper in plan.described.values():
        print(kinds_said(paper))
        for number, what in open_to_dos(paper.path):
            print(f"{shown(paper.path)}: line {number}: to do: {what}")


def design(args: argparse.Namespace) -> None:
    """Write design.csv of a paper."""
    from whitewire.design.rows import design

    design(args.paper, args.testbed, args.effort, args.output)


def links(args: argparse.Namespace) -> None:
    """Measure links, drives, RDMA ports and transports of a testbed alone: needs no paper, no Java and no Hadoop."""
    from whitewire.description.project import load_config
    from whitewire.measure import survey
    from whitewire.paths import root
    from whitewire.records.links import FOLDER
    from whitewire.records.parts import OF_LINKS
    from whitewire.tidy.links import tables

    config = load_config()
    testbed = args.testbed or config["testbed"]
    results = args.results or root() / "results" / testbed
    if args.part == RECORD:
        survey.finish(results / FOLDER)
    else:
        effort, parts = args.effort or config["effort"], [args.part] if args.part else OF_LINKS
        survey.survey(testbed, results, effort, args.within, args.hosts_of, parts)
    if not args.part:
        tables(results / FOLDER)


def tidy_links(args: argparse.Namespace) -> None:
    """Turn what `links` measured into tables, with what is beyond its bound."""
    from whitewire.records.links import FOLDER
    from whitewire.tidy.links import tables

    tables(args.results / FOLDER)


def trust(args: argparse.Namespace) -> None:
    """Measure how far the emulated testbed can be trusted: links, runs of known ratio, one link under two names, and
    what k, load from outside and the order of runs change."""
    make_software()
    from whitewire.description.project import load_config
    from whitewire.measure.trust import trust
    from whitewire.paths import root
    from whitewire.records.trust import FOLDER

    testbed = args.testbed or load_config()["testbed"]
    results = args.results or root() / "results" / testbed
    if trust(testbed, results, args.parts, args.within, args.dry_run):
        from whitewire.analysis.trust import tables

        tables(results / FOLDER, results)


def trust_tables(args: argparse.Namespace) -> None:
    """Turn what `trust` measured into tables: each question, its answer with an interval, whether its goal is met."""
    from whitewire.analysis.trust import tables
    from whitewire.records.trust import FOLDER

    tables(args.results / FOLDER, args.results)


def calibration(args: argparse.Namespace) -> None:
    """Set published ratios of real clusters beside the emulated ones: shares inside, misses, assumptions."""
    from whitewire.analysis.calibration import tables

    tables(args.results)


def measure(args: argparse.Namespace) -> None:
    """Measure one block of a design."""
    make_software()
    from whitewire.description.names import CLAIM
    from whitewire.measure.block import Only, measure
    from whitewire.measure.rounds import Seen

    only = None
    if claim := os.environ.get(CLAIM, ""):
        from whitewire.analysis.one_claim import rows_of

        only = Only(claim, rows_of)

    def interim(*of: Any) -> Seen:
        from whitewire.analysis.so_far import judge_so_far  # only where a paper has interim analyses

        return partial(judge_so_far, only=claim)(*of)

    measure(args.paper, args.testbed, args.design, args.block, args.output, interim, only)


def make_software() -> None:
    """Make the software of measurements in a rule's environment or image; elsewhere the set-up has made it."""
    from whitewire.paths import HOME, KILLED_WITH_THIS

    script = [*KILLED_WITH_THIS, "sh", str(HOME / "scripts" / "software")]
    asked = subprocess.run([*script, "--folder"], stdout=subprocess.PIPE, text=True)
    if asked.returncode == NO_ENVIRONMENT:
        return
    folder = asked.stdout.strip()
    if asked.returncode != 0 or subprocess.run([*script, folder]).returncode != 0:
        raise UserError("the software of this environment could not be made; the reason is above")
    os.environ["WHITEWIRE_SOFTWARE"] = folder


def tidy(args: argparse.Namespace) -> None:
    """Turn raw results into tables."""
    from whitewire.progress import Pulse
    from whitewire.tidy.tables import tidy

    with Pulse(args.paper).going() as pulse:
        pulse.doing("from raw results to tables")
        tidy(args.paper, args.results)


def analyse(args: argparse.Namespace) -> None:
    """Turn tables into estimates and verdicts."""
    from whitewire.analysis.analyse import analyse
    from whitewire.progress import Pulse

    with Pulse(args.paper).going() as pulse:
        pulse.doing("from tables to estimates and verdicts")
        analyse(args.paper, args.testbed, args.results)


def render(args: argparse.Namespace) -> None:
    """Render documents: all that have results, or the named ones only."""
    from whitewire.report.render import INDEX, LeftOut, document, formats_of, lacking, render, render_command

    # On SIGTERM it still removes unfinished files; after a kill the next start of the workflow does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if not args.paper:
        render_command(args)
    for name in args.paper or ():
        render(document(name), args.results, args.output or args.results / "reports", formats_of(name))
    if args.start_page and lacking(args.results):
        try:
            render(document(INDEX), args.results, args.output or args.results / "reports", ("html",))
        except LeftOut as others:  # no reason against the report that was asked for
            print(*(f"whitewire: {line}" for line in others.lines), sep="\n", file=sys.stderr)


def citations(args: argparse.Namespace) -> None:
    """Print the papers' entries of the bibliography as BibTeX: for `quarto render` by hand."""
    from whitewire.report.render import citations

    print(citations(), end="")


def ending(args: argparse.Namespace) -> None:
    """Say what the last start came to: runs, verdicts and reports of each paper, what is missing, what to do."""
    from whitewire.report.ending import show

    show()


def doctor(args: argparse.Namespace) -> int:
    """Say what this machine, or every host of a site, can and cannot do."""
    from whitewire.install.doctor import OF_KIND, doctor, packages

    if not packages().ok:
        return doctor(None)
    from whitewire.description.capabilities import capabilities_of
    from whitewire.description.project import load_config, testbed_path
    from whitewire.description.testbed import load_testbed
    from whitewire.paths import shown
    from whitewire.testbed import kinds

    name = args.testbed or load_config()["testbed"]
    description = load_testbed(name)
    if capabilities_of(description).local:
        return doctor(description)
    if look := OF_KIND.get(description["kind"]):
        found = look()
        print(f"{found.name}: {'; '.join(filter(None, (found.state, found.remedy)))}")
    return kinds.look_at(description, shown(testbed_path(name)))


def lab(args: argparse.Namespace) -> int | None:
    """Open a shell on the running testbed."""
    from whitewire.measure.lab import lab

    return lab(args.testbed)


def prepare(args: argparse.Namespace) -> None:
    """Make what every cluster start shares."""
    from whitewire.install.prepare import prepare

    prepare()


def hibench(args: argparse.Namespace) -> None:
    """Make a private copy of HiBench that runs here: from a folder, an archive, an address or the pinned commit."""
    from whitewire.install.hibench_tree import prepare
    from whitewire.testbed.emulated.software import HADOOP

    found = prepare(args.source, HADOOP)
    print(f"HiBench {found.release} is ready: {', '.join(found.built) or 'nothing'} built, values {found.values}")


def plan(args: argparse.Namespace) -> None:
    """Say what would be measured and how long it takes."""
    from whitewire.workflow.plan import print_plan

    print_plan()


def again(args: argparse.Namespace) -> None:
    """Print what of earlier starts is outdated, and with AGAIN the blocks that a busy machine disturbed: for `snakemake
    --forcerun`."""
    from whitewire.workflow.plan import print_again

    print_again()


def papers(args: argparse.Namespace) -> int:
    """Run the workflow, and once more with the time that papers left, for those whose budget had ended."""
    from whitewire.workflow.papers import run

    return run(args.options)


def claim(args: argparse.Namespace) -> None:
    """Say what measuring one claim takes, and print its block.json files for `snakemake --forcerun`; none where nothing
    is to be measured."""
    from whitewire.workflow.one_claim import print_claim

    print_claim()


def check(args: argparse.Namespace) -> None:
    """Say what of results is sound: sizes and digests, records, names and designs, block by block."""
    from whitewire.tidy.check import check

    check(args.folder)


def compare(args: argparse.Namespace) -> None:
    """Set two result folders side by side."""
    from whitewire.report.compare import compare

    print(compare(args.a, args.b))


def appendix(args: argparse.Namespace) -> None:
    """Write the artifact appendix of a run, which conferences ask for, in HTML, PDF and Markdown."""
    from whitewire.description.project import load_config
    from whitewire.paths import shown
    from whitewire.report.appendix import appendix

    for path in appendix(args.testbed or load_config()["testbed"]):
        print(shown(path))


def reference(args: argparse.Namespace) -> None:
    """Keep the tables of a complete run in results/reference, in place of the last one."""
    from whitewire.description.project import load_config
    from whitewire.paths import root, shown
    from whitewire.report import reference

    config, private = load_config(), keeps_private(args.private)
    print(shown(reference.make(args.results or root() / "results" / config["testbed"], config["papers"], private)))


def report(args: argparse.Namespace) -> None:
    """Judge and report results that were measured elsewhere: a crate, or the reference results. Nothing is measured."""
    from whitewire.paths import shown
    from whitewire.report import bundle, crate, rebuild, reference

    if args.testbed not in ("", reference.REFERENCE):
        raise UserError(
            f"TESTBED: found {args.testbed!r}, expected {reference.REFERENCE}; "
            "`make papers` makes the reports of what is measured here"
        )
    if args.crate and args.testbed:
        raise UserError(f"CRATE and TESTBED: found both ({args.crate}, {args.testbed}), expected one of them")
    record, files = crate.read(Path(args.crate)) if args.crate else reference.read()
    project = rebuild.target(bundle.name_of(Path(args.crate)) if args.crate else reference.REFERENCE)
    results, faults = rebuild.reported(project, record, files)
    if changed := bundle.judged_otherwise(results, files):
        print(f"judged otherwise than where it comes from: {', '.join(changed)}")
    if (page := rebuild.start_page(project)).is_file():
        print(shown(page))
    if faults:
        raise Faults(faults)


def crate(args: argparse.Namespace) -> None:
    """Pack a testbed's results into one file, an RO-Crate, which `whitewire report` opens anywhere."""
    from whitewire.description.project import load_config
    from whitewire.paths import root, shown
    from whitewire.report import crate

    config = load_config()
    results = args.results or root() / "results" / config["testbed"]
    papers = config["papers"] if os.environ.get("PAPERS") else crate.judged(results) or config["papers"]
    made = crate.make(results, papers, args.raw, args.output, keeps_private(args.private))
    for line in crate.pages_lacking(results, papers):
        print(f"whitewire: {line}", file=sys.stderr)
    print(shown(made))


def keeps_private(asked: str) -> bool:
    """Whether exported results keep the site's names. Raises UserError for any word but `keep`."""
    if asked not in ("", "keep"):
        raise UserError(f"PRIVATE: found {asked!r}, expected keep; without it names are replaced")
    return asked == "keep"


def readme(args: argparse.Namespace) -> None:
    """Write README's counts and figures anew, from the reference results and their reports."""
    from whitewire.paths import shown
    from whitewire.report import readme

    for path in readme.write():
        print(shown(path))


def docs(args: argparse.Namespace) -> None:
    """Write the generated pages of documentation to build/docs: all keys, all factors, and the papers' similitude."""
    from whitewire import atomic
    from whitewire.description import factor_page, keys
    from whitewire.paths import shown
    from whitewire.report import similitude_page
    from whitewire.report.render import documentation

    for made in (keys, factor_page, similitude_page):
        made.PAGE.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(made.PAGE, made.page())
        print(shown(made.PAGE), shown(documentation(made.PAGE)), sep="\n")


def new_paper(args: argparse.Namespace) -> None:
    """Make the two files of a new paper, from answers to questions or from a file. Nothing is written over."""
    from whitewire.paths import shown
    from whitewire.workflow import new_paper

    if args.given:
        given = new_paper.read(args.given)
        paths = new_paper.new_paper(given, shown(args.given))
    else:
        given = new_paper.ask()
        try:
            paths = new_paper.new_paper(given, "your answers")
        except UserError:
            print(f"# Your answers: correct them in a file for --from.\n{new_paper.as_yaml(given)}")
            raise
    name = given["id"]
    print(*new_paper.readings(given), sep="\n")
    print(f"made {' and '.join(map(shown, paths))}")
    command = f"PAPERS={name} .venv/bin/whitewire"
    print(f"next: {command} validate; {command} plan; make papers PAPERS={name} EFFORT=smoke")


def site(args: argparse.Namespace) -> None:
    """Write the file of a new testbed, from a list of hosts or this job, and from what each host says of itself."""
    from whitewire.paths import shown
    from whitewire.workflow import new_site

    path = new_site.new_site(args.name, args.given, args.ssh_config)
    print(*new_site.look_lines(path), sep="\n")
    print(f"made {shown(path)}; the lines above are for you to look at")
    print(f"next: edit it; make doctor TESTBED={args.name}; make testbed TESTBED={args.name}")


WITHOUT_CONFIGURATION: tuple[Subcommand, ...] = (hibench, check)
"""Subcommands that read no configuration. The others print which one they read if not the current folder's."""
REPORTING: tuple[Subcommand, ...] = (tidy, tidy_links, analyse, render)
"""Subcommands that a campaign runs beside its lanes: each takes one of the lanes' processors."""
WRITERS: tuple[Subcommand, ...] = (
    design, links, tidy_links, trust, trust_tables, calibration, measure, tidy, analyse, render, lab, hibench, compare,
    appendix, reference, report, crate, readme,
)  # fmt: skip
"""Subcommands that write results, or use the machine as a measurement does: one at a time (`lock`)."""
GROUPS: Mapping[str, tuple[Subcommand, ...]] = {
    "everyday": (validate, plan, doctor, report, compare, check, new_paper, site, lab, appendix, crate),
    "stages, which the workflow calls": (
        links, tidy_links, design, measure, tidy, analyse, render, trust, trust_tables, calibration, papers, again,
        claim, ending,
    ),
    "set-up and maintenance": (prepare, hibench, reference, readme, docs, citations),
}  # fmt: skip
"""The subcommands as --help lists them."""
NEW_PAPER = """\
examples:
  whitewire new-paper                       asks one thing after the other
  whitewire new-paper --from answers.yaml   takes the answers from a file, such as

    id: acme-2019
    title: Faster Ingest with Acme Adapters
    publisher: Acme Networks
    year: 2019
    source: {authors: ["Doe, Jane"], url: https://example.com/paper.pdf, accessed: 2026-11-26}
    exhibits:
    - {id: fig1, caption: Ingest by network}
    claims:
    - {statement: Ingest is six times as fast, exhibit: fig1, form: ratio, workload: hdfs_put, metric: throughput,
       printed: 6x, fabric: 10gbe, over: 1gbe}
    - {statement: TeraSort takes half the time, form: ratio, workload: terasort, metric: completion_time,
       printed: 1/2 the time, fabric: 10gbe, over: 1gbe}
    - {statement: The adapter takes load off the processors, form: not_testable, missing: the adapter}

`make docs` writes every key of the answers to build/docs/keys.md.
"""

SITE = """\
examples:
  whitewire site mycluster --from hosts.txt        a host in each line: node01, alice@node01, 10.1.0.17
  whitewire site mycluster --from manifest.xml     a CloudLab manifest
  whitewire site mycluster --from machines.yaml    hosts of EnOSlib: its static provider's file, or roles with hosts
  whitewire site mycluster --from outputs.json     tofu output -json > outputs.json
  whitewire site mycluster                         in a job of Slurm or another scheduler: its nodes

Each host is asked in one command, and nothing is written there. Edit the file, then: make doctor TESTBED=mycluster
"""


def _name(function: Subcommand) -> str:
    return function.__name__.replace("_", "-")


def _grouped() -> str:
    """The subcommands by group, one line each."""
    lines = []
    for group, functions in GROUPS.items():
        about = {_name(each): " ".join((each.__doc__ or "").split()).split(". ")[0].rstrip(".") for each in functions}
        lines += [f"{group}:", *(f"  {name:<14}{what}" for name, what in about.items()), ""]
    return "\n".join([*lines, "Daily use is by make: `make help` lists its targets and variables."])


def _check_command(given: Sequence[str]) -> None:
    """Raise a UserError where the first word names no subcommand."""
    from whitewire.text import quoted, suggestion

    names = [_name(each) for functions in GROUPS.values() for each in functions]
    if given and not given[0].startswith("-") and given[0] not in names:
        expected = f"one that `whitewire --help` lists{suggestion(given[0], names)}"
        raise UserError(f"command: found {quoted(given[0])}, expected {expected}")


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    from whitewire.records.parts import OF_LINKS, PARTS, WITHIN

    top = argparse.ArgumentParser(
        prog="whitewire", description="Re-measure papers and judge their claims.", epilog=_grouped(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"whitewire {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function: Subcommand, *options: str) -> argparse.ArgumentParser:
        text = function.__doc__ or ""
        sub = commands.add_parser(_name(function), description=text)
        sub.set_defaults(function=function)
        for option in options:
            kind = Path if option in ("--design", "--output", "--results") else str
            sub.add_argument(option, required=True, type=kind)
        return sub

    command(validate)
    sub = command(links)
    sub.add_argument("--testbed", help="default: that of config.yaml")
    sub.add_argument("--results", type=Path, help="the testbed's folder (default: results/<testbed>)")
    sub.add_argument("--effort", choices=("smoke", "quick", "full"), help="default: that of config.yaml")
    sub.add_argument("--within", default="", metavar="TIME", help="how long it may take: 10m (default: by effort)")
    more = "whose hosts and k an emulated testbed has (default: the largest of config.yaml's papers)"
    sub.add_argument("--hosts-of", default="", metavar="PAPER", help=more)
    more = f"that one alone; {RECORD}: what is measured of all, as one record (default: all, and their record)"
    sub.add_argument("--part", choices=(*OF_LINKS, RECORD), default="", help=more)
    command(tidy_links, "--results")
    sub = command(trust)
    sub.add_argument("--testbed", help="default: that of config.yaml; an emulated one")
    sub.add_argument("--results", type=Path, help="the testbed's folder (default: results/<testbed>)")
    sub.add_argument("--parts", default="", metavar="NAMES", help=f"{','.join(PARTS)} (default: all)")
    sub.add_argument("--within", default="", metavar="TIME", help=f"how long it may take: 20m (default: {WITHIN})")
    sub.add_argument("--dry-run", action="store_true", help="say what would be measured, and how long it takes")
    command(trust_tables, "--results")
    command(calibration, "--results")
    command(design, "--paper", "--testbed", "--effort", "--output")
    command(measure, "--paper", "--testbed", "--design", "--block", "--output")
    command(tidy, "--paper", "--results")
    command(analyse, "--paper", "--testbed", "--results")
    sub = command(render, "--results")
    sub.add_argument("--paper", action="append", help="a paper, or index for the start page; may be repeated")
    sub.add_argument("--output", type=Path, help="the folder of the reports (default: reports/ of the results)")
    more = "also the start page, where a paper of config.yaml has no verdicts yet and nothing else would make it soon"
    sub.add_argument("--start-page", action="store_true", help=more)
    command(citations)
    command(ending)
    sub = command(doctor)
    sub.add_argument("--testbed", default=None, help="a site's name: its hosts, all at once")
    sub = command(lab)
    sub.add_argument("--testbed", default=None)
    command(prepare)
    sub = command(hibench)
    sub.add_argument("source", nargs="?", default="", help="a folder, an archive or an address")
    command(plan)
    sub = command(papers)
    sub.add_argument("options", nargs="*", metavar="OPTION", help="of Snakemake, after --")
    command(again)
    command(claim)
    sub = command(check)
    sub.add_argument("folder", type=Path, metavar="FOLDER", help="results/<testbed>, or one paper of it")
    sub = command(compare)
    sub.add_argument("a", metavar="A", help="a folder of results/, or a path")
    sub.add_argument("b", metavar="B", help="the one that is set against it")
    sub = command(appendix)
    sub.add_argument(
        "--testbed", default="", help="a folder of results/, a path, or reference (default: config.yaml's)"
    )
    names = "keep: with names of hosts, users, addresses and folders as they are (default: they are replaced)"
    sub = command(reference)
    sub.add_argument("results", nargs="?", type=Path, metavar="FOLDER", help="results/<testbed>")
    sub.add_argument("--private", default="", metavar="WORD", help=names)
    sub = command(report)
    sub.add_argument("--testbed", default="", help="reference, which is the default")
    sub.add_argument("--crate", default="", metavar="FILE", help="a crate that `make crate` made")
    sub = command(crate)
    sub.add_argument("results", nargs="?", type=Path, metavar="FOLDER", help="results/<testbed>")
    sub.add_argument("--raw", action="store_true", help="with all raw output")
    sub.add_argument("--private", default="", metavar="WORD", help=names)
    sub.add_argument("--output", type=Path, metavar="FILE", help="default: results/crates/<testbed>.zip")
    command(readme)
    command(docs)
    sub = command(new_paper)
    sub.formatter_class, sub.epilog = argparse.RawDescriptionHelpFormatter, NEW_PAPER
    sub.add_argument("--from", dest="given", type=Path, metavar="FILE", help="answers as YAML, in place of questions")
    sub = command(site)
    sub.formatter_class, sub.epilog = argparse.RawDescriptionHelpFormatter, SITE
    sub.add_argument("name", metavar="NAME", help="of the testbed: config/testbeds/NAME.yaml, which may not be there")
    sub.add_argument("--from", dest="given", type=Path, metavar="FILE", help="a list of hosts (default: this job's)")
    more = "a configuration of ssh in place of your own; the testbed's file names it"
    sub.add_argument("--ssh-config", default="", metavar="FILE", help=more)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status; `ended` reports its errors. Control characters in the output are
    escaped, whatever their source."""
    with (
        contextlib.redirect_stdout(cast("Any", PlainOutput(sys.stdout))),
        contextlib.redirect_stderr(cast("Any", PlainOutput(sys.stderr))),
    ):
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    try:
        _check_command(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        return ended(error, "")
    args = parser().parse_args(argv)
    try:
        from whitewire import lanes
        from whitewire.paths import elsewhere, settle_environment
        from whitewire.workflow import parent_watch

        foreign = settle_environment()
        if argv is None and any(name.startswith("PYTHON") for name in foreign):  # this Python has read them already
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        parent_watch.follow()
        if args.function not in WITHOUT_CONFIGURATION and (place := elsewhere()):
            print(f"whitewire: {place}", file=sys.stderr)
        with _alone(args), lanes.processors(1.0) if args.function in REPORTING else contextlib.nullcontext():
            return args.function(args) or 0
    except KeyboardInterrupt:
        print("whitewire: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except Exception as error:
        return ended(error, args.command)


def _alone(args: argparse.Namespace) -> contextlib.AbstractContextManager[object]:
    """The lock that lets only one subcommand write at a time."""
    from whitewire.lock import exclusive
    from whitewire.paths import HOME, root

    if args.function not in WRITERS or getattr(args, "dry_run", False):
        return contextlib.nullcontext()
    return exclusive(HOME if args.function in WITHOUT_CONFIGURATION else root(), ["whitewire", *sys.argv[1:]])


def ended(error: Exception, command: str) -> int:
    """Print why a command failed and return its exit status; call this while the error is being handled.

    Errors that the user can put right give one line per fault and status 2. Any other error is a fault of this program:
    one line that names the file with the traceback, and status UNEXPECTED. With the environment variable TRACEBACK it
    is raised again.
    """
    if isinstance(error, UserError | OSError):
        fault = of_system(error) if isinstance(error, OSError) else error
        for line in fault.lines:
            print(f"whitewire: error: {line}", file=sys.stderr)
        return 2
    if os.environ.get(TRACEBACK):
        raise error
    said = " ".join(f"whitewire {command}: unexpected {error.__class__.__name__}: {error}".split())[:500]
    print(f"{said}; this is a fault of Whitewire: the traceback is {_kept(command)}", file=sys.stderr)
    return UNEXPECTED


def _kept(command: str) -> str:
    """Write the traceback of the error being handled to a file; returns its place in words."""
    from whitewire.paths import FAULTS, shown

    report = f"whitewire {__version__}: {' '.join(sys.argv)}\n{traceback.format_exc()}"
    path = FAULTS / f"{command}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, encoding="utf-8")
    except OSError as error:
        return f"below, as {of_system(error)}\n{report.rstrip()}"
    return f"in {shown(path)}"
