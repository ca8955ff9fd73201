"""The command `whitewire`: one subcommand per stage, each a thin call of its module."""

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
from pathlib import Path
from typing import Any, Protocol, cast

from whitewire import __version__
from whitewire.errors import Faults, PlainOutput, UserError, of_system

TRACEBACK, UNEXPECTED = "WHITEWIRE_TRACEBACK", 70
"""Environment variable for tracebacks of unexpected errors, and the exit status of such errors without it."""
NO_ENVIRONMENT = 3
"""Exit status of `scripts/software --folder` outside a rule's environment and image."""
_RECORD = "record"
"""Value of `links --part` that joins all measured parts into one record."""


class Subcommand(Protocol):
    """A function below. Its name is that of the subcommand, its docstring the help; it may return an exit status."""

    __name__: str

    def __call__(self, args: argparse.Namespace, /) -> int | None: ...


class AddCommand(Protocol):
    """Adds a subcommand with its required options, and returns its parser."""

    def __call__(self, function: Subcommand, *options: str) -> argparse.ArgumentParser: ...


def validate(args: argparse.Namespace) -> None:
    """Check every file of a run and this machine, and print the outlook and the kinds of claims."""
    from whitewire.workflow.validation import validated

    validated()


def design(args: argparse.Namespace) -> None:
    """Write the design.csv of a paper."""
    from whitewire.design.rows import write_design

    write_design(args.paper, args.testbed, args.effort, args.output)


def links(args: argparse.Namespace) -> None:
    """Measure the links, drives, RDMA ports and transports of a testbed, without paper, Java and Hadoop."""
    from whitewire.description.project import load_config
    from whitewire.measure import survey
    from whitewire.paths import root
    from whitewire.records.links import LINKS_FOLDER
    from whitewire.records.parts import OF_LINKS
    from whitewire.tidy.links import write_links_tables

    config = load_config()
    testbed = args.testbed or config["testbed"]
    results = args.results or root() / "results" / testbed
    if args.part == _RECORD:
        survey.finish(results / LINKS_FOLDER)
    else:
        effort, parts = args.effort or config["effort"], [args.part] if args.part else OF_LINKS
        survey.survey(testbed, results, effort, args.within, args.hosts_of, parts)
    if not args.part:
        write_links_tables(results / LINKS_FOLDER)


def tidy_links(args: argparse.Namespace) -> None:
    """Convert the results of `links` to tables, including everything beyond its bound."""
    from whitewire.records.links import LINKS_FOLDER
    from whitewire.tidy.links import write_links_tables

    write_links_tables(args.results / LINKS_FOLDER)


def trust(args: argparse.Namespace) -> None:
    """Measure the accuracy of the emulated testbed: links, known ratios, A/A pairs, k, other load, run order."""
    make_software()
    from whitewire.description.project import load_config
    from whitewire.measure.trust import measure_trust
    from whitewire.paths import root
    from whitewire.records.trust import TRUST_FOLDER

    testbed = args.testbed or load_config()["testbed"]
    results = args.results or root() / "results" / testbed
    if measure_trust(testbed, results, args.parts, args.within, args.dry_run):
        from whitewire.analysis.trust import write_trust_tables

        write_trust_tables(results / TRUST_FOLDER, results)


def trust_tables(args: argparse.Namespace) -> None:
    """Convert the results of `trust` to tables: answers with intervals, and whether their goals are met."""
    from whitewire.analysis.trust import write_trust_tables
    from whitewire.records.trust import TRUST_FOLDER

    write_trust_tables(args.results / TRUST_FOLDER, args.results)


def calibration(args: argparse.Namespace) -> None:
    """Compare published ratios of real clusters with emulated ones: coverage, misses, assumptions."""
    from whitewire.analysis.calibration import write_calibration_tables

    write_calibration_tables(args.results)


def measure(args: argparse.Namespace) -> None:
    """Measure one block of a design."""
    make_software()
    from whitewire.description.names import CLAIM
    from whitewire.measure.block import Only, measure_block
    from whitewire.measure.rounds import Seen

    only = None
    if claim := os.environ.get(CLAIM, ""):
        from whitewire.analysis.one_claim import rows_of_claim

        only = Only(claim, rows_of_claim)

    def interim(*of: Any) -> Seen:
        from whitewire.analysis.so_far import judge_so_far  # only where a paper has interim analyses

        return judge_so_far(*of, only=claim)

    measure_block(args.paper, args.testbed, args.design, args.block, args.output, interim, only)


def make_software() -> None:
    """Build the software of measurements in a rule's environment or image; elsewhere the set-up has built it."""
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
    """Convert raw results to tables."""
    from whitewire.progress import Pulse
    from whitewire.tidy.tables import tidy_paper

    with Pulse(args.paper).going() as pulse:
        pulse.doing("from raw results to tables")
        tidy_paper(args.paper, args.results)


def analyse(args: argparse.Namespace) -> None:
    """Compute estimates and verdicts from tables."""
    from whitewire.analysis.analyse import analyse_paper
    from whitewire.progress import Pulse

    with Pulse(args.paper).going() as pulse:
        pulse.doing("from tables to estimates and verdicts")
        analyse_paper(args.paper, args.testbed, args.results)


def render(args: argparse.Namespace) -> None:
    """Render all documents with results, or the given ones."""
    from whitewire.report.render import (
        INDEX,
        LeftOut,
        document,
        formats_of,
        papers_lacking,
        papers_with_results,
        render_document,
    )

    # SIGTERM: remove unfinished files before the end. After a kill the next start of the workflow removes them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    output = args.output or args.results / "reports"
    for name in args.paper or [*papers_with_results(args.results), INDEX]:
        made = render_document(document(name), args.results, output, formats_of(name))
        if not args.paper:
            print(*made, sep="\n")
    if args.start_page and papers_lacking(args.results):
        try:
            render_document(document(INDEX), args.results, output, ("html",))
        except LeftOut as others:  # the requested report is there
            print(*(f"whitewire: {line}" for line in others.lines), sep="\n", file=sys.stderr)


def citations(args: argparse.Namespace) -> None:
    """Print the bibliography of the papers as BibTeX, for `quarto render` by hand."""
    from whitewire.report.render import bibtex_of_papers

    print(bibtex_of_papers(), end="")


def ending(args: argparse.Namespace) -> None:
    """Print the outcome of the last start: runs, verdicts and reports per paper, gaps and remedies."""
    from whitewire.report.ending import print_ending

    print_ending()


def doctor(args: argparse.Namespace) -> int:
    """Print the capabilities of this machine, or of every host of a site."""
    from whitewire.install.doctor import OF_KIND, examine_machine, packages

    if not packages().ok:
        return examine_machine(None)
    from whitewire.description.capabilities import capabilities_of
    from whitewire.description.project import load_config, testbed_path
    from whitewire.description.testbed import load_testbed
    from whitewire.paths import shown
    from whitewire.testbed import kinds

    name = args.testbed or load_config()["testbed"]
    description = load_testbed(name)
    if capabilities_of(description).local:
        return examine_machine(description)
    if look := OF_KIND.get(description["kind"]):
        found = look()
        print(f"{found.name}: {'; '.join(filter(None, (found.state, found.remedy)))}")
    return kinds.look_at(description, shown(testbed_path(name)))


def lab(args: argparse.Namespace) -> int | None:
    """Open a shell on a running testbed."""
    from whitewire.measure.lab import open_lab

    return open_lab(args.testbed)


def prepare(args: argparse.Namespace) -> None:
    """Prepare files for all cluster starts: defaults, class archive, NameNode image."""
    from whitewire.install.prepare import prepare_cluster

    prepare_cluster()


def hibench(args: argparse.Namespace) -> None:
    """Build a private copy of HiBench from a folder, an archive, an address or the pinned commit."""
    from whitewire.install.hibench_tree import prepare_tree
    from whitewire.testbed.emulated.software import HADOOP

    found = prepare_tree(args.source, HADOOP)
    print(f"HiBench {found.release} is ready: {', '.join(found.built) or 'nothing'} built, values {found.values}")


def plan(args: argparse.Namespace) -> None:
    """Print the runs of a start, their expected time, and the prospects of open claims."""
    from whitewire.workflow.ahead import print_plan

    print_plan()


def papers(args: argparse.Namespace) -> int:
    """Measure, judge and report all papers with Snakemake, within the budget."""
    print("checking the papers, the testbed and this machine", flush=True)  # takes seconds
    from whitewire.workflow.papers import run_papers

    return run_papers(args.options)


def claim(args: argparse.Namespace) -> int:
    """Measure and judge one claim and its controls, or print its answer if nothing is to be measured."""
    from whitewire.workflow.one_claim import run_claim

    return run_claim(args.options)


def check(args: argparse.Namespace) -> None:
    """Check results block by block: sizes and digests, records, names, designs."""
    from whitewire.tidy.check import check_results

    check_results(args.folder)


def compare(args: argparse.Namespace) -> None:
    """Compare the results of two sites, or pool those of several."""
    from whitewire.report.compare import compare_results

    print(compare_results(args.sites))


def appendix(args: argparse.Namespace) -> None:
    """Write the artifact appendix of a run in HTML, PDF and Markdown, for conferences."""
    from whitewire.description.project import load_config
    from whitewire.paths import shown
    from whitewire.report.appendix import write_appendix

    for path in write_appendix(args.testbed or load_config()["testbed"]):
        print(shown(path))


def reference(args: argparse.Namespace) -> None:
    """Store the tables of a complete run in results/reference, replacing the previous reference."""
    from whitewire.description.project import load_config
    from whitewire.paths import root, shown
    from whitewire.report.reference import keep_reference

    config, private = load_config(), keeps_private(args.private)
    print(shown(keep_reference(args.results or root() / "results" / config["testbed"], config["papers"], private)))


def report(args: argparse.Namespace) -> None:
    """Judge and report results from elsewhere, a crate or the reference, without measuring."""
    from whitewire.paths import shown
    from whitewire.report import bundle, rebuild, reference
    from whitewire.report.bundle import bundle_name
    from whitewire.report.crate import read_crate
    from whitewire.report.rebuild import opened_folder
    from whitewire.report.reference import read_reference

    if args.testbed not in ("", reference.REFERENCE):
        raise UserError(
            f"TESTBED: found {args.testbed!r}, expected {reference.REFERENCE}; "
            "`make papers` makes the reports of what is measured here"
        )
    if args.crate and args.testbed:
        raise UserError(f"CRATE and TESTBED: found both ({args.crate}, {args.testbed}), expected one of them")
    record, files = read_crate(Path(args.crate)) if args.crate else read_reference()
    project = opened_folder(bundle_name(Path(args.crate)) if args.crate else reference.REFERENCE)
    results, faults = rebuild.reported(project, record, files)
    if changed := bundle.judged_otherwise(results, files):
        print(f"verdicts that differ from the recorded ones: {', '.join(changed)}")
    if (page := rebuild.start_page(project)).is_file():
        print(shown(page))
    if faults:
        raise Faults(faults)


def crate(args: argparse.Namespace) -> None:
    """Pack a testbed's results into one file, an RO-Crate for `whitewire report`."""
    from whitewire.description.project import load_config
    from whitewire.paths import root, shown
    from whitewire.report import crate

    config = load_config()
    results = args.results or root() / "results" / config["testbed"]
    papers = config["papers"] if os.environ.get("PAPERS") else crate.papers_judged(results) or config["papers"]
    made = crate.make_crate(results, papers, args.raw, args.output, keeps_private(args.private))
    for line in crate.pages_lacking(results, papers):
        print(f"whitewire: {line}", file=sys.stderr)
    print(shown(made))


def keeps_private(asked: str) -> bool:
    """Whether exported results keep the site's names. Raises UserError for any word but `keep`."""
    if asked not in ("", "keep"):
        raise UserError(f"PRIVATE: found {asked!r}, expected keep; without it names are replaced")
    return asked == "keep"


def readme(args: argparse.Namespace) -> None:
    """Update README's counts and figures from the reference results and their reports."""
    from whitewire.paths import shown
    from whitewire.report.readme import write_readme

    for path in write_readme():
        print(shown(path))


def docs(args: argparse.Namespace) -> None:
    """Write generated documentation to build/docs: keys, factors, columns and metrics, similitude of the papers."""
    from whitewire import atomic
    from whitewire.paths import shown
    from whitewire.report.generated import PAGES
    from whitewire.report.render import documentation

    for made in PAGES:
        made.PAGE.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(made.PAGE, made.page())
        print(shown(made.PAGE), shown(documentation(made.PAGE)), sep="\n")


def new_paper(args: argparse.Namespace) -> None:
    """Create the two files of a new paper from answers to questions or from a file. Existing files are kept."""
    from whitewire.description.reading import load_yaml
    from whitewire.paths import shown
    from whitewire.workflow import new_paper
    from whitewire.workflow.new_paper import write_paper

    if args.given:
        given = load_yaml(args.given)
        paths = write_paper(given, shown(args.given))
    else:
        given = new_paper.ask()
        try:
            paths = write_paper(given, "your answers")
        except UserError:
            print(f"# Your answers: correct them in a file for --from.\n{new_paper.as_yaml(given)}")
            raise
    name = given["id"]
    print(*new_paper.readings(given), sep="\n")
    print(f"made {' and '.join(map(shown, paths))}")
    command = f"PAPERS={name} .venv/bin/whitewire"
    print(f"next: {command} validate; {command} plan; make papers PAPERS={name} EFFORT=smoke")


def site(args: argparse.Namespace) -> None:
    """Create the file of a new testbed from a list of hosts or the current job, and from facts of each host."""
    from whitewire.paths import shown
    from whitewire.workflow import new_site

    path = new_site.new_site(args.name, args.given, args.ssh_config)
    print(*new_site.look_lines(path), sep="\n")
    print(f"made {shown(path)}; check the lines above")
    print(f"next: edit it; make doctor TESTBED={args.name}; make testbed TESTBED={args.name}")


WITHOUT_CONFIGURATION: tuple[Subcommand, ...] = (hibench, check)
"""Subcommands without configuration. The others name its folder if it is not the current one."""
REPORTING: tuple[Subcommand, ...] = (tidy, tidy_links, analyse, render)
"""Subcommands that run beside the lanes of a campaign; each takes one of their processors."""
WRITERS: tuple[Subcommand, ...] = (
    design, links, tidy_links, trust, trust_tables, calibration, measure, tidy, analyse, render, lab, hibench, compare,
    appendix, reference, report, crate, readme,
)  # fmt: skip
"""Subcommands that write results or use the machine like a measurement: one at a time (`lock`)."""
_GROUPS: Mapping[str, tuple[Subcommand, ...]] = {
    "everyday": (validate, plan, doctor, report, compare, check, new_paper, site, lab, appendix, crate),
    "stages of the workflow": (
        links, tidy_links, design, measure, tidy, analyse, render, trust, trust_tables, calibration, papers, claim,
        ending,
    ),
    "set-up and maintenance": (prepare, hibench, reference, readme, docs, citations),
}  # fmt: skip
"""The subcommands by group, for --help."""
NEW_PAPER = """\
examples:
  whitewire new-paper                       asks questions
  whitewire new-paper --from answers.yaml   reads a file such as

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

All keys of the answers: `make docs`, then build/docs/keys.md.
"""

SITE = """\
examples:
  whitewire site mycluster --from hosts.txt        one host per line: node01, alice@node01, 10.1.0.17
  whitewire site mycluster --from manifest.xml     a CloudLab manifest
  whitewire site mycluster --from machines.yaml    hosts of EnOSlib: its static provider's file, or roles with hosts
  whitewire site mycluster --from outputs.json     tofu output -json > outputs.json
  whitewire site mycluster                         in a job of Slurm or another scheduler: its nodes

One command runs on each host and writes nothing there. Edit the file, then: make doctor TESTBED=mycluster
"""


def _name(function: Subcommand) -> str:
    return function.__name__.replace("_", "-")


def _grouped() -> str:
    """The subcommands by group, one line each."""
    lines = []
    for group, functions in _GROUPS.items():
        about = {_name(each): " ".join((each.__doc__ or "").split()).split(". ")[0].rstrip(".") for each in functions}
        lines += [f"{group}:", *(f"  {name:<14}{what}" for name, what in about.items()), ""]
    return "\n".join([*lines, "For daily use: `make help` lists targets and variables."])


def _check_command(given: Sequence[str]) -> None:
    """Raise a UserError if the first word is no subcommand."""
    from whitewire.text import quoted, suggestion

    names = [_name(each) for functions in _GROUPS.values() for each in functions]
    if given and not given[0].startswith("-") and given[0] not in names:
        expected = f"one that `whitewire --help` lists{suggestion(given[0], names)}"
        raise UserError(f"command: found {quoted(given[0])}, expected {expected}")


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="whitewire", description="Measure the claims of papers again and judge them.", epilog=_grouped(),
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

    for add in (_stages, _set_up_and_starts, _of_results, _written_files):
        add(command)
    return top


def _stages(command: AddCommand) -> None:
    """Stages of the workflow, each alone."""
    from whitewire.records.parts import OF_LINKS, PARTS, WITHIN

    command(validate)
    sub = command(links)
    sub.add_argument("--testbed", help="default: that of config.yaml")
    sub.add_argument("--results", type=Path, help="the testbed's folder (default: results/<testbed>)")
    sub.add_argument("--effort", choices=("smoke", "quick", "full"), help="default: that of config.yaml")
    sub.add_argument("--within", default="", metavar="TIME", help="time limit, such as 10m (default: by effort)")
    more = "paper with the hosts and k of an emulated testbed (default: the largest of config.yaml's papers)"
    sub.add_argument("--hosts-of", default="", metavar="PAPER", help=more)
    more = f"one part only; {_RECORD}: the record of all measured parts (default: all parts and the record)"
    sub.add_argument("--part", choices=(*OF_LINKS, _RECORD), default="", help=more)
    command(tidy_links, "--results")
    sub = command(trust)
    sub.add_argument("--testbed", help="an emulated one (default: that of config.yaml)")
    sub.add_argument("--results", type=Path, help="the testbed's folder (default: results/<testbed>)")
    sub.add_argument("--parts", default="", metavar="NAMES", help=f"{','.join(PARTS)} (default: all)")
    sub.add_argument("--within", default="", metavar="TIME", help=f"time limit, such as 20m (default: {WITHIN})")
    sub.add_argument("--dry-run", action="store_true", help="print the plan and its time, measure nothing")
    command(trust_tables, "--results")
    command(calibration, "--results")
    command(design, "--paper", "--testbed", "--effort", "--output")
    command(measure, "--paper", "--testbed", "--design", "--block", "--output")
    command(tidy, "--paper", "--results")
    command(analyse, "--paper", "--testbed", "--results")
    sub = command(render, "--results")
    more = "a paper, or index for the start page; repeatable (default: all with results, and the start page)"
    sub.add_argument("--paper", action="append", help=more)
    sub.add_argument("--output", type=Path, help="folder of the reports (default: reports/ of the results)")
    more = "also the start page, if it is missing because a paper of config.yaml has no verdicts yet"
    sub.add_argument("--start-page", action="store_true", help=more)
    command(citations)
    command(ending)


def _set_up_and_starts(command: AddCommand) -> None:
    """What this machine or a site has, and what starts the workflow."""
    sub = command(doctor)
    sub.add_argument("--testbed", default=None, help="a site's name: check all of its hosts")
    sub = command(lab)
    sub.add_argument("--testbed", default=None)
    command(prepare)
    sub = command(hibench)
    sub.add_argument("source", nargs="?", default="", help="a folder, an archive or an address")
    command(plan)
    for function in (papers, claim):
        command(function).add_argument("options", nargs="*", metavar="OPTION", help="option of Snakemake, after --")


def _of_results(command: AddCommand) -> None:
    """What reads results that are there."""
    sub = command(check)
    sub.add_argument("folder", type=Path, metavar="FOLDER", help="results/<testbed>, or one paper of it")
    sub = command(compare)
    more = "a folder of results/, a crate, or a folder of crates; also as a path. Three or more sites are pooled"
    sub.add_argument("sites", nargs="+", metavar="SITE", help=more)
    sub = command(appendix)
    sub.add_argument(
        "--testbed", default="", help="a folder of results/, a path, or reference (default: config.yaml's)"
    )
    names = "keep: leave names of hosts, users, addresses and folders (default: replace them)"
    sub = command(reference)
    sub.add_argument("results", nargs="?", type=Path, metavar="FOLDER", help="results/<testbed>")
    sub.add_argument("--private", default="", metavar="WORD", help=names)
    sub = command(report)
    sub.add_argument("--testbed", default="", help="reference (default)")
    sub.add_argument("--crate", default="", metavar="FILE", help="a crate, from `make crate`")
    sub = command(crate)
    sub.add_argument("results", nargs="?", type=Path, metavar="FOLDER", help="results/<testbed>")
    sub.add_argument("--raw", action="store_true", help="include all raw output")
    sub.add_argument("--private", default="", metavar="WORD", help=names)
    sub.add_argument("--output", type=Path, metavar="FILE", help="default: results/crates/<testbed>.zip")


def _written_files(command: AddCommand) -> None:
    """Pages of documentation, and files of a new paper or testbed."""
    command(readme)
    command(docs)
    sub = command(new_paper)
    sub.formatter_class, sub.epilog = argparse.RawDescriptionHelpFormatter, NEW_PAPER
    sub.add_argument("--from", dest="given", type=Path, metavar="FILE", help="answers as YAML, instead of questions")
    sub = command(site)
    sub.formatter_class, sub.epilog = argparse.RawDescriptionHelpFormatter, SITE
    sub.add_argument("name", metavar="NAME", help="of the new testbed: config/testbeds/NAME.yaml")
    sub.add_argument("--from", dest="given", type=Path, metavar="FILE", help="a list of hosts (default: this job's)")
    more = "ssh configuration file instead of your own; the testbed's file refers to it"
    sub.add_argument("--ssh-config", default="", metavar="FILE", help=more)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status; `ended` reports errors. Control characters in the output are
    escaped."""
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
    """Lock for one writing subcommand at a time."""
    from whitewire.lock import exclusive
    from whitewire.paths import HOME, root

    if args.function not in WRITERS or getattr(args, "dry_run", False):
        return contextlib.nullcontext()
    return exclusive(HOME if args.function in WITHOUT_CONFIGURATION else root(), ["whitewire", *sys.argv[1:]])


def ended(error: Exception, command: str) -> int:
    """Print why a command failed and return its exit status; call this while the error is being handled.

    Errors of the user give one line per fault and status 2. Any other error is a fault of this program: one line with
    the path of the traceback, and status UNEXPECTED; with the environment variable TRACEBACK it is raised again.
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
    """Write the traceback of the current error to a file; returns its place in words."""
    from whitewire.paths import FAULTS, shown

    report = f"whitewire {__version__}: {' '.join(sys.argv)}\n{traceback.format_exc()}"
    path = FAULTS / f"{command}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, encoding="utf-8")
    except OSError as error:
        return f"below, as {of_system(error)}\n{report.rstrip()}"
    return f"in {shown(path)}"
