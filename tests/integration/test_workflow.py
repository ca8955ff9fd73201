"""The workflow as Snakemake sees it, and the make vocabulary. Nothing here measures."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from tests.support import forked
from tests.support.repository import environment, linked, repository
from whitewire.budget import BUDGET_VARIABLE, Budget
from whitewire.description.project import load_config
from whitewire.tidy.tables import LINKS_COLUMNS, TABLES
from whitewire.workflow.plan import GOES_ON, MACHINE

HOME = Path(__file__).resolve().parents[2]
SNAKEMAKE = str(Path(sys.executable).parent / "snakemake")
OF_TOOLS = ("network.json", "drives.json", "rdma.json")


def fresh(top: Path) -> Path:
    """The repository's programs with results of its own, in a path with a space."""
    top.mkdir()
    return linked(top)


@pytest.fixture
def project(tmp_path):
    return fresh(tmp_path / "white wire")


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory):
    project = fresh(tmp_path_factory.mktemp("finished") / "white wire")
    finish(project)
    return project


@pytest.fixture
def finished(finished_once, tmp_path):
    """A project of its own with a finished run."""
    return shutil.copytree(finished_once, tmp_path / "white wire", symlinks=True)


def results_of(project: Path) -> Path:
    return project / "results" / "emulated"


def snakemake(folder, *argv, **environ):
    environment = {**os.environ, "EFFORT": "smoke", "PAPERS": "emulex-2012", **environ}
    return forked.run([SNAKEMAKE, *argv], folder, environment)


def jobs(done) -> dict[str, int]:
    """Jobs that a dry run would start, by rule."""
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    counts = dict(match.groups() for line in lines if (match := re.fullmatch(r"(\w+)\s+(\d+)", line.strip())))
    return {rule: int(count) for rule, count in counts.items() if rule != "total"}


def finish(project: Path) -> None:
    """Stands in for a finished run: every declared output, newer than its inputs, as Snakemake would record it."""
    done = snakemake(project, "--touch", "--forceall")
    results = results_of(project)
    missing = ["design.csv", "raw/smoke-1/block.json"]
    missing += [f"logs/{stage}.done" for stage in ("tidy", "analysis", "paper")]
    missing += [f"tidy/{name}" for name in ("runs.csv", *TABLES, "datapackage.json")]
    missing += [
        f"analysis/{name}.csv"
        for name in (
            "estimates",
            "verdicts",
            "readings",
            "model",
            "model_as_run",
            "audit",
            "inverse",
            "sweeps",
            "similitude",
            "controls",
        )  # fmt: skip
    ]
    for name in missing:
        path = results / "emulex-2012" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    (results / "links" / "tables").mkdir(parents=True, exist_ok=True)
    for name in (*OF_TOOLS, "links.json", *(f"tables/{name}" for name in (*LINKS_COLUMNS, "datapackage.json"))):
        (results / "links" / name).write_text("x\n")
    (results / "logs").mkdir(exist_ok=True)
    for name in ("links-tables", "index", "testbed"):
        (results / "logs" / f"{name}.done").write_text("")
    for folder in ("data/emulex-2012", "figures/emulex-2012", "badges/emulex-2012", "data/testbed", "figures/testbed"):
        (results / "reports" / folder).mkdir(parents=True, exist_ok=True)
        (results / "reports" / folder / "x.png").write_text("x\n")
    own = [f"emulex-2012.{kind}" for kind in ("html", "pdf", "brief.pdf")]
    for name in (*own, "testbed.html", "testbed.pdf", "index.html"):
        (results / "reports" / name).write_text("x\n")
    done = snakemake(project, "--touch", "--forceall")
    assert done.returncode == 0, done.stderr


def test_dry_run_names_every_stage(project):
    found = jobs(snakemake(project, "--dry-run"))
    assert found == {
        "links_network": 1,
        "links_drives": 1,
        "links_rdma": 1,
        "links": 1,
        "links_tables": 1,
        "testbed_page": 1,
        "design": 1,
        "measure": found["measure"],
        "tidy": 1,
        "analysis": 1,
        "paper": 1,
        "index": 1,
        "all": 1,
    }
    assert found["measure"] >= 1
    assert not (project / "results").exists()


def test_dry_run_names_all_papers_by_default(project):
    found = jobs(snakemake(project, "--dry-run", PAPERS=""))
    assert found["paper"] == found["analysis"] == found["design"] == len(load_config({})["papers"]) == 6


def test_dry_run_names_every_described_paper_when_asked(project):
    described = sorted(path.stem for path in (HOME / "config" / "papers").glob("*.yaml"))
    found = jobs(snakemake(project, "--dry-run", PAPERS=" ".join(described)))
    assert found["paper"] == found["analysis"] == found["design"] == len(described) == 8


def test_more_effort_measures_more_runs(monkeypatch):
    from whitewire.workflow.plan import Plan

    monkeypatch.setenv("PAPERS", "chelsio-iwarp")  # jobs, whose times no simulation gives
    counts = []
    for effort in ("smoke", "quick", "full"):
        monkeypatch.setenv("EFFORT", effort)
        counts.append(len(Plan.load().designs["chelsio-iwarp"]))
    assert counts == sorted({*counts})


def test_finished_workflow_does_nothing(finished):
    done = snakemake(finished, "--dry-run")
    assert jobs(done) == {}
    said = done.stdout + done.stderr
    assert "Nothing to be done" in said
    assert "start page: results/emulated/reports/index.html" in said, "what next is said all the same"


def contents(results):
    """What the stages made, by path; not what Snakemake or a start writes beside it, nor the start page with its
    figures and data, which is made again when a rule fails."""
    kept = (path for path in results.rglob("*") if path.is_file() and "logs" not in path.parts)
    kept = (path for path in kept if path != results / "reports" / "index.html" and path.parent.name != "index")
    made = {str(path.relative_to(results)): path for path in kept if not path.name.startswith(".snakemake")}
    return {name: path.read_bytes() for name, path in made.items()}


FAILING = {
    "tidy": ("results/emulated/emulex-2012/raw/smoke-1/block.json", "emulex-2012/logs/tidy.done"),
    "analysis": ("config/papers/emulex-2012.yaml", "emulex-2012/logs/analysis.done"),
    "paper": ("paper/emulex-2012.qmd", "emulex-2012/logs/paper.done"),
    "links_tables": ("results/emulated/links/links.json", "logs/links-tables.done"),
    "testbed_page": ("paper/testbed.qmd", "logs/testbed.done"),
    "index": ("paper/index.qmd", "logs/index.done"),
}
"""Of each rule something that is newer than what it made, and its own stamp, for which `all` asks too. It fails: all
there is reads `x`."""


@pytest.mark.parametrize(
    "rule", [pytest.param(rule, marks=[] if rule in ("tidy", "paper") else [pytest.mark.slow]) for rule in FAILING]
)
def test_what_a_rule_made_before_stays_when_it_fails_and_it_is_tried_again(finished, rule):
    newer, target = FAILING[rule]
    results = results_of(finished)
    for name in ("data", "figures"):  # what a start that was killed had kept
        for page in ("emulex-2012", "testbed"):
            (finished / ".snakemake/backups/results/emulated/reports" / name / page).mkdir(parents=True)
    with (finished / newer).open("a") as file:  # of a small file Snakemake asks for the content, not for the time alone
        file.write("\n")
    before = contents(results)
    assert len(before) > 40
    for _ in range(2 if rule == "paper" else 1):  # what the first attempt leaves is in the way of no second one
        done = snakemake(finished, "--cores", "1", f"results/emulated/{target}")
        assert done.returncode != 0
        assert "CalledProcessError" in done.stderr, done.stderr
        assert contents(results) == before
        assert "restore" not in (done.stdout + done.stderr).lower()
    again = jobs(snakemake(finished, "--dry-run"))
    assert again[rule] == 1 and "measure" not in again and "links" not in again


def test_changed_document_renders_that_document_only(finished):
    with (finished / "paper" / "emulex-2012.qmd").open("a") as file:
        file.write("\n<!-- changed -->\n")
    assert jobs(snakemake(finished, "--dry-run")) == {"paper": 1, "all": 1}


def test_changed_start_page_renders_the_start_page_only(finished):
    with (finished / "paper" / "index.qmd").open("a") as file:
        file.write("\n<!-- changed -->\n")
    assert jobs(snakemake(finished, "--dry-run")) == {"index": 1, "all": 1}


def test_changed_claim_does_not_measure(finished):
    path = finished / "config" / "papers" / "emulex-2012.yaml"
    path.write_text(path.read_text() + "\n# a remark\n")
    found = jobs(snakemake(finished, "--dry-run"))
    assert "measure" not in found
    assert found["analysis"] == 1


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        ("records/jobs", {"tidy", "links_tables", "testbed_page", "analysis", "paper", "index"}),
        ("analysis/claims", {"analysis", "paper", "index", "testbed_page"}),
        ("measure/block", set()),
        ("records/outliers", {"links_tables", "testbed_page"}),
        *(
            pytest.param(module, rules, marks=pytest.mark.slow)
            for module, rules in {
                "workloads/terasort": {"tidy", "links_tables", "testbed_page", "analysis", "paper", "index"},
                "tools/iperf3": set[str](),
                "design/shapes": set[str](),
                "description/paper": {"tidy", "links_tables", "testbed_page", "analysis", "paper", "index"},
                "models/raid": {"tidy", "analysis", "paper", "index", "links_tables", "testbed_page"},
                "report/render": {"testbed_page", "paper", "index"},
                "cluster/hdfs": set[str](),
            }.items()
        ),
    ],
)
def test_a_changed_module_makes_what_runs_it_again(finished, module, rules):
    (finished / "src").unlink()
    shutil.copytree(HOME / "src" / "whitewire", finished / "src" / "whitewire")
    with (finished / "src" / "whitewire" / f"{module}.py").open("a") as file:
        file.write("# changed\n")
    assert set(jobs(snakemake(finished, "--dry-run"))) - {"all"} == rules


def test_newer_design_with_the_same_rows_does_not_measure(finished):
    results = results_of(finished)
    design = results / "emulex-2012" / "design.csv"
    os.utime(design)
    assert "measure" not in jobs(snakemake(finished, "--dry-run"))


def test_a_block_whose_folder_was_removed_is_measured_again(finished):
    results = results_of(finished)
    assert "measure" not in jobs(snakemake(finished, "--dry-run"))
    shutil.rmtree(results / "emulex-2012" / "raw" / "smoke-1")
    assert jobs(snakemake(finished, "--dry-run"))["measure"] == 1


def test_another_budget_goes_on_measuring(finished):
    assert jobs(snakemake(finished, "--dry-run", BUDGET="2h"))["measure"] >= 1


def test_a_paper_that_goes_on_within_its_start_is_measured_judged_and_reported_anew(finished):
    record = "results/emulated/emulex-2012/raw/smoke-1/block.json"
    text = Budget(time.monotonic() + 500, {"emulex-2012/smoke-1": 0.0}, {"emulex-2012/smoke-1": 0.0}, 6000.0).text()
    forced = ("--dry-run", "--forcerun", record, "--rerun-incomplete")
    found = jobs(snakemake(finished, *forced, **{GOES_ON: "yes", BUDGET_VARIABLE: text}))
    assert found == dict.fromkeys(("measure", "tidy", "analysis", "paper", "index", "all"), 1)


def test_one_claim_is_measured_and_judged_and_nothing_else(finished, tmp_path):
    claim = {"PAPERS": "", "WHITEWIRE_CLAIM": "E-C02"}
    found = jobs(snakemake(fresh(tmp_path / "new"), "claim", "--dry-run", **claim))
    links = dict.fromkeys(("links", "links_network", "links_drives", "links_rdma"), 1)
    assert found == {**links, **dict.fromkeys(("design", "measure", "tidy", "analysis", "claim"), 1)}
    # After a start for all claims, and before the next one: the block is gone on with.
    assert jobs(snakemake(finished, "claim", "--dry-run", **claim))["measure"] == 1


def test_the_testbed_alone_needs_no_measurement_of_a_paper(project):
    found = jobs(snakemake(project, "testbed", "--dry-run"))
    rules = ("links_network", "links_drives", "links_rdma", "links", "links_tables", "testbed_page", "testbed")
    assert found == dict.fromkeys(rules, 1)


def test_a_paper_without_runs_at_an_effort_is_judged_and_reported_without_links(project):
    """Which hosts to measure links of, papers say by their runs."""
    for kind, folder in (("yaml", project / "config" / "papers"), ("qmd", project / "paper")):
        shutil.copy(HOME / "docs" / "template" / f"paper.{kind}", folder / f"made-up-2026.{kind}")
    path = project / "config" / "papers" / "made-up-2026.yaml"
    path.write_text(path.read_text().replace("  workload: hdfs_put\n", "  workload: hdfs_put\n  efforts: [full]\n"))
    found = jobs(snakemake(project, "--dry-run", PAPERS="made-up-2026", EFFORT="quick"))
    assert found == dict.fromkeys(("design", "tidy", "analysis", "paper", "index", "all"), 1)
    assert jobs(snakemake(project, "--dry-run", PAPERS="made-up-2026", EFFORT="full"))["testbed_page"] == 1
    path = project / "config" / "testbeds" / "emulated.yaml"
    path.write_text(f"{path.read_text()}\ntransports: {{ other: {{ kind: tcp, preload: [libc.so.6] }} }}\n")
    assert jobs(snakemake(project, "--dry-run", PAPERS="made-up-2026", EFFORT="quick")) == found


def test_transports_of_a_testbed_are_measured_by_a_rule_of_their_own(project):
    """One that changes Java alone has nothing that iperf3 could measure."""
    path = project / "config" / "testbeds" / "emulated.yaml"
    text = path.read_text()
    path.write_text(f"{text}\ntransports: {{ poll: {{ kind: tcp, java: [-Da=b] }} }}\n")
    assert "links_transports" not in jobs(snakemake(project, "--dry-run"))
    path.write_text(f"{text}\ntransports: {{ other: {{ kind: tcp, preload: [libc.so.6] }} }}\n")
    assert jobs(snakemake(project, "--dry-run"))["links_transports"] == 1
    assert jobs(snakemake(project, "links_transports", "--dry-run")) == {"links_transports": 1}


def test_a_transport_that_is_added_is_measured_without_the_links(finished):
    path = finished / "config" / "testbeds" / "emulated.yaml"
    path.write_text(f"{path.read_text()}\ntransports: {{ other: {{ kind: tcp, preload: [libc.so.6] }} }}\n")
    found = jobs(snakemake(finished, "--dry-run"))
    assert found["links_transports"] == found["links"] == found["paper"] == 1
    assert not {"links_network", "links_drives", "links_rdma", "measure"} & found.keys()


@pytest.mark.parametrize("part", ["network", "drives", "rdma"])
def test_what_one_tool_measured_is_measured_again_by_itself(finished, part):
    (results_of(finished) / "links" / f"{part}.json").unlink()
    assert jobs(snakemake(finished, f"links_{part}", "--dry-run")) == {f"links_{part}": 1}


def test_links_are_measured_again_when_the_testbeds_file_says_something_else(finished):
    results = results_of(finished)
    path = finished / "config" / "testbeds" / "emulated.yaml"
    path.write_text(path.read_text() + "\n# a remark\n")
    assert "links" not in jobs(snakemake(finished, "--dry-run"))
    path.write_text(path.read_text().replace("port_buffer_kib: 256", "port_buffer_kib: 128"))
    found = jobs(snakemake(finished, "--dry-run"))
    assert [found[rule] for rule in ("links", "links_network", "links_drives", "links_rdma")] == [1, 1, 1, 1]
    for name in (*OF_TOOLS, "links.json"):
        os.utime(results / "links" / name)
    path.write_text(path.read_text().replace("port_buffer_kib: 128", "port_buffer_kib: 256"))
    assert "measure" not in jobs(snakemake(finished, "--dry-run"))


def test_sets_of_published_measurements_are_measured_by_the_rules_of_papers(project):
    (project / "Snakefile").symlink_to(HOME / "Snakefile")
    argv = [project / "scripts" / "calibrate", SNAKEMAKE, "calibrate", "--dry-run"]
    environ = environment(EFFORT="smoke", PAPERS="")
    found = jobs(subprocess.run(argv, cwd=project, env=environ, capture_output=True, text=True, timeout=300))
    sets = len(list((HOME / "config" / "calibration").glob("*.yaml")))
    assert found["measure"] == found["analysis"] == found["paper"] == sets
    assert found["calibration_tables"] == found["calibration_page"] == found["index"] == 1


def test_another_seed_measures(finished):
    path = finished / "config" / "config.yaml"
    path.write_text(re.sub(r"seed: \d+", "seed: 7", path.read_text()))
    assert jobs(snakemake(finished, "--dry-run"))["measure"] >= 1


def test_config_on_the_command_line(project):
    smoke = jobs(snakemake(project, "--dry-run", EFFORT="smoke"))
    assert jobs(snakemake(project, "--dry-run", "--config", "effort=smoke", EFFORT="")) == smoke
    done = snakemake(project, "--dry-run", "--config", "efort=smoke")
    assert done.returncode == 2
    assert 'did you mean "effort"?' in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["Snakefile", "workflow/Snakefile"])
def test_both_snakefiles_make_everything_with_the_profile_of_the_checkout(project, place):
    (project / "Snakefile").symlink_to(HOME / "Snakefile")
    done = snakemake(project, "--dry-run", *([] if place == "Snakefile" else ["--snakefile", place]))
    assert done.returncode == 0, done.stderr
    assert "workflow specific profile profiles/default" in done.stdout + done.stderr
    assert re.search(r"^all +1$", done.stdout, re.MULTILINE) and re.search(r"^measure +\d", done.stdout, re.MULTILINE)


def alive(pid: int) -> bool:
    """Runs still; a zombie that nobody has waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("signal", ["TERM", "INT", "KILL"])
def test_stopping_ends_the_whole_group_and_its_temporary_files(tmp_path, signal):
    home = repository(tmp_path / "wire")
    # The child's own child shows that the group is ended, not only its leader.
    script = 'touch "$TMPDIR/left"; setpriv --pdeathsig KILL sleep 61 & sleep 0.5; echo "$(jobs -p)"; wait'
    exclusive, options = [str(home / "scripts" / "exclusive"), "bash", "-c"], {"env": environment(), "text": True}
    process = subprocess.Popen([*exclusive, script], stdout=subprocess.PIPE, **options)
    grandchild = int(process.stdout.readline())
    assert alive(grandchild)
    process.send_signal(getattr(__import__("signal"), f"SIG{signal}"))
    process.wait(timeout=10)
    deadline = time.monotonic() + 5
    while alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(grandchild)
    if signal != "KILL":
        assert not (home / "whitewire-tmp").exists()
    again = subprocess.run([*exclusive, 'ls "$TMPDIR"'], capture_output=True, timeout=10, **options)
    assert (again.returncode, again.stdout) == (0, "")


def test_a_start_has_all_of_the_machine_to_share():
    profile = yaml.safe_load((HOME / "profiles" / "default" / "config.yaml").read_text())
    assert profile["resources"] == {"measuring": MACHINE}


def test_code_and_environments_of_rules_measure_nothing_again():
    for name in ("default", "slurm"):
        profile = yaml.safe_load((HOME / "profiles" / name / "config.yaml").read_text())
        assert set(profile["rerun-triggers"]) == {"mtime", "params", "input"}, name
