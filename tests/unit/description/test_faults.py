"""Every fault of a paper that would show after runs only is one line beforehand: the template with one fault each."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tests.support import quick_yaml
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError
from whitewire.estimands import ESTIMANDS
from whitewire.paths import HOME
from whitewire.workflow.checked_paper import checked_paper
from whitewire.workloads import workload_of

TEMPLATE = quick_yaml.load((HOME / "docs" / "template" / "paper.yaml").read_text(encoding="utf-8"))
TESTBED = load_testbed("emulated")


def said(tmp_path: Path, change) -> str:
    """What validation says of the template after `change`, without the file's name; empty if nothing."""
    data = copy.deepcopy(TEMPLATE)
    change(data)
    path = tmp_path / f"{data['id']}.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
    try:
        checked_paper(path, TESTBED)
    except UserError as error:
        return str(error).split(f"{path.name}: ", 1)[1]
    return ""


def experiment(data: dict) -> dict:
    return data["experiments"][0]


def parameters(data: dict) -> dict:
    return experiment(data)["parameters"]


def test_of(data: dict) -> dict:
    return data["claims"][0]["test"]


test_of.__test__ = False


def inverse(data: dict) -> dict:
    return data["claims"][3]["inverse"]


def of_jobs(data: dict) -> dict:
    """The template's experiment as one of TestDFSIO, with all that names its metrics."""
    own = experiment(data)
    own["workload"] = "testdfsio"
    own["parameters"] = {"size_bytes": 5.0e9, "block_size_bytes": 67108864, "replication": 2, "maps": 3}
    own["scale"] = {"k": 30, "bytes": {"smoke": 1e6, "quick": 2e6, "full": 4e6}, "splits": 2}
    test_of(data).pop("also")
    for asking in (test_of(data), inverse(data), *data["controls"]):
        asking["metric"] = "write_throughput"
    return own


def renamed(part: dict, old: str, new: str) -> None:
    part[new] = part.pop(old)


def by_puts(data: dict) -> None:
    """The puts of a client as a factor, named everywhere."""
    experiment(data)["factors"]["puts_per_client"] = [1, 4]
    places = [*experiment(data)["smoke_cells"], *(control["cell"]["where"] for control in data["controls"])]
    places += [test_of(data)[side]["where"] for side in ("numerator", "denominator")]
    for place in [*places, inverse(data).setdefault("where", {})]:
        place["puts_per_client"] = 4


def as_share(data: dict, **more: object) -> dict:
    data["claims"][0]["test"] = {
        "estimand": "share", "metric": "throughput", "cell": {"experiment": "ingest", "where": {"fabric": "1gbe"}},
        "over": {"link_of": "1gbe"}, "relation": "above", "expected": 0.5, **more,
    }  # fmt: skip
    return test_of(data)


def with_store(data: dict, **store: object) -> None:
    own = of_jobs(data)
    own["roles"] |= {"mds": 1, "oss": 1}
    own["stores"] = {"one": {"kind": "cephfs", **store}}
    own["factors"]["store"] = ["one"]
    for cell in [*own["smoke_cells"], *(control["cell"]["where"] for control in data["controls"])]:
        cell["store"] = "one"
    for side in ("numerator", "denominator"):
        test_of(data)[side]["where"]["store"] = "one"
    inverse(data)["where"] = {"store": "one"}


def with_read_rate(data: dict) -> None:
    hardware = experiment(data)["hardware"]
    hardware["drive"]["read_rate_mb_per_s"] = "500 MB/s"
    hardware["sources"]["read_rate_mb_per_s"] = "a data sheet"


SHAPE = {"stripe_count": 1, "stripe_size_bytes": 1048576, "max_dirty_bytes": 1048576, "readahead_bytes": 1048576}
ANY_ESTIMAND = ", ".join(ESTIMANDS)
OF_JOBS = ", ".join(sorted(workload_of("testdfsio").known()))
OF_PUTS = "a metric that runs of hdfs_put (ingest) have"
NO_FULL_SCALE = (
    'claims[0] (N-C01).routes[0]: found "emulated", expected another route or metric: {} of ingest holds the startup '
    "of its jobs, so it has no value at full scale"
)

FAULTS = {
    # --- what runs need
    "no replicates": (
        lambda d: d.pop("replicates"), "replicates: found null, expected one, since there are experiments"),
    "no replicates of an effort": (
        lambda d: d["replicates"].pop("full"), "replicates.full: found nothing, expected a value"),
    "no blocks": (lambda d: d.pop("blocks"), "blocks: found null, expected one, since there are experiments"),
    "blocks of an effort": (
        lambda d: d["blocks"].pop("quick"), "blocks.quick: found nothing, expected a whole number"),
    "not a single block": (lambda d: d["blocks"].update(quick=0), "blocks.quick: found 0, expected at least 1"),
    "looks that do not grow": (
        lambda d: d.update(looks={"quick": [3, 3, 6]}),
        "looks.quick[1]: found 3, expected more runs than the 3 of the interim analysis before"),
    "looks that end early": (
        lambda d: d.update(looks={"quick": [3, 4, 5]}),
        "looks.quick[2]: found 5, expected 6, as replicates.quick.claimed says"),
    "runs of an experiment beyond the last analysis": (
        lambda d: (d.update(looks={"quick": [3, 6]}),
                   experiment(d).update(replicates={"smoke": 1, "quick": 7, "full": 9})),
        "experiments[0].replicates.quick: found 7, expected at most 6, the last of looks.quick, for which intervals "
        "are made"),
    "claimed runs of an experiment beyond the last analysis": (
        lambda d: (d.update(looks={"quick": [3, 6]}), experiment(d).update(
            replicates={"smoke": 1, "quick": {"claimed": 20, "other": 1}, "full": 9})),
        "experiments[0].replicates.quick.claimed: found 20, expected at most 6, the last of looks.quick, for which "
        "intervals are made"),
    "no effect of 0": (
        lambda d: test_of(d).update(no_effect=0), "claims[0].test.no_effect: found 0, expected more than 0"),
    "no effect of a trend of 0": (
        lambda d: d["claims"][0].update(test={
            "estimand": "trend", "metric": "throughput", "cell": {"experiment": "ingest", "where": {}},
            "factor": "fabric", "levels": ["1gbe", "10gbe"], "relation": "increasing", "no_effect": 0}),
        "claims[0].test.no_effect: found 0, expected more than 0"),
    "an analysis too early": (
        lambda d: d.update(looks={"full": [2, 10]}), "looks.full[0]: found 2, expected at least 3"),
    "no looks": (lambda d: d.update(looks={"full": []}), "looks.full: found [], expected at least 1 items"),
    "looks at no effort": (
        lambda d: d.update(looks={"fast": [3, 6]}),
        'looks.fast: found an unknown key, expected one of full, quick, smoke'),
    "runs as a fraction": (
        lambda d: d["replicates"]["quick"].update(other=10.0),
        "replicates.quick.other: found 10.0 (a number), expected a whole number"),
    "map for maps": (
        lambda d: renamed(of_jobs(d)["parameters"], "maps", "map"),
        f'experiments[0].parameters: found "map", expected a parameter that testdfsio reads ({OF_JOBS}); did you mean '
        '"maps"?'),
    "replicaton": (
        lambda d: renamed(of_jobs(d)["parameters"], "replication", "replicaton"),
        f'experiments[0].parameters: found "replicaton", expected a parameter that testdfsio reads ({OF_JOBS}); did '
        'you mean "replication"?'),
    "more replicas than DataNodes": (
        lambda d: parameters(d).update(replication=4),
        "experiments[0].parameters.replication: found 4, expected at most 3, the DataNodes of ingest 1gbe"),
    "two NameNodes": (
        lambda d: experiment(d)["roles"].update(namenode=2),
        "experiments[0].roles.namenode: found 2, expected 1: HDFS here has one NameNode"),
    "no DataNode": (
        lambda d: experiment(d)["roles"].pop("datanode"),
        "experiments[0].roles.datanode: found null, expected at least 1: it holds the data"),
    "no client": (
        lambda d: experiment(d)["roles"].pop("client"),
        "experiments[0].roles.client: found null, expected at least 1: it runs the tools"),
    "an unknown role": (
        lambda d: experiment(d)["roles"].update(datanodes=2),
        'experiments[0].roles: found "datanodes", expected one of namenode, datanode, client, mds, oss; did you mean '
        '"datanode"?'),
    "more clients than hosts": (
        lambda d: parameters(d).update(clients=2),
        "experiments[0].parameters.clients: found 2, expected at most 1, the hosts in roles.client"),
    "no block size": (
        lambda d: parameters(d).pop("block_size_bytes"),
        'experiments[0].parameters: found ["clients", "file_size_bytes", "puts_per_client", "replication"], expected '
        "block_size_bytes among them"),
    "no block size of jobs": (
        lambda d: of_jobs(d)["parameters"].pop("block_size_bytes"),
        'experiments[0].parameters: found ["maps", "replication", "size_bytes"], expected block_size_bytes among them'),
    "a block that checksums do not divide": (
        lambda d: parameters(d).update(block_size_bytes=67108865),
        "experiments[0].parameters.block_size_bytes: found 67108865, expected a number of bytes that 512 divides"),
    "a block that vanishes": (
        lambda d: parameters(d).update(block_size_bytes=5120),
        "experiments[0].parameters.block_size_bytes: found 5120, expected at least k times scale.block_granule_bytes, "
        "15360 for a block of ingest 1gbe"),
    "a granule that checksums do not divide": (
        lambda d: d["scale"].update(block_granule_bytes=100),
        "scale.block_granule_bytes: found 100, expected a multiple of 512: HDFS's blocks are"),
    "bytes beyond the paper's": (
        lambda d: of_jobs(d)["scale"]["bytes"].update(full=1e9),
        "experiments[0].scale.bytes.full: found 1000000000.0, expected at most 166666667 for ingest 1gbe: times k, 30, "
        "it is more than size_bytes, 5000000000"),
    "blocks beyond the paper's": (
        lambda d: d["scale"]["file_blocks"].update(full=80),
        "scale.file_blocks.full: found 80, expected at most 74 for ingest 1gbe: the number of whole blocks of "
        "file_size_bytes, 5000000000"),
    # --- values of another type
    "a parameter in quotes": (
        lambda d: parameters(d).update(replication="2"),
        'experiments[0].parameters.replication: found text "2", expected a whole number from 1 to 512'),
    "half a replica": (
        lambda d: parameters(d).update(replication=2.5),
        "experiments[0].parameters.replication: found 2.5, expected a whole number from 1 to 512"),
    "offloads without quotes": (
        lambda d: experiment(d)["factors"].update(offloads=[True, False]),
        'experiments[0].factors.offloads[0]: found true, expected text "on" or "off", in quotes'),
    "a level in quotes": (
        lambda d: (by_puts(d), test_of(d)["numerator"]["where"].update(puts_per_client="4")),
        'claims[0] (N-C01).test.where.puts_per_client: found text "4", expected the number 4'),
    "a level as another number": (
        lambda d: (by_puts(d), test_of(d)["numerator"]["where"].update(puts_per_client=4.0)),
        "claims[0] (N-C01).test.where.puts_per_client: found the number 4.0, expected the number 4"),
    # --- cells
    "a claim on a cell that only leaves out": (
        lambda d: (experiment(d).update(only=[{"fabric": "1gbe"}], smoke_cells=[{"fabric": "1gbe"}]),
                   d.pop("controls")),
        'claims[0] (N-C01).test.where: found {"fabric": "10gbe"}, expected a cell of ingest that its `only` lets be '
        'made; did you mean {"fabric": "1gbe"}?'),
    "a smoke cell that only leaves out": (
        lambda d: experiment(d).update(only=[{"fabric": "1gbe"}]),
        'experiments[0].smoke_cells[1]: found {"fabric": "10gbe"}, expected a cell of ingest that its `only` lets be '
        'made; did you mean {"fabric": "1gbe"}?'),
    "a ratio of a cell to itself": (
        lambda d: test_of(d)["denominator"]["where"].update(fabric="10gbe"),
        'claims[0] (N-C01).test.denominator: found {"fabric": "10gbe"}, expected another cell than the numerator'),
    "a level that the test varies": (
        lambda d: d["claims"][0].update(test={
            "estimand": "trend", "metric": "throughput", "factor": "fabric", "levels": ["1gbe", "10gbe"],
            "cell": {"experiment": "ingest", "where": {"fabric": "1gbe"}}, "relation": "increasing"}),
        'claims[0] (N-C01).test.cell.where: found "fabric", expected no level of a factor that the test varies'),
    "a control that no effort makes": (
        lambda d: experiment(d).update(efforts=["smoke"]),
        'controls[0] (N-K01).cell.experiment: found "ingest", expected an experiment that quick or full effort makes, '
        "since controls are made there"),
    # --- metrics
    "a metric that the workload lacks": (
        lambda d: test_of(d).update(metric="write_throughput"),
        f'claims[0] (N-C01).test.metric: found "write_throughput", expected {OF_PUTS}; did you mean "throughput"?'),
    "a further metric that it lacks": (
        lambda d: test_of(d).update(also=["write_throughput"]),
        f'claims[0] (N-C01).test.also[0]: found "write_throughput", expected {OF_PUTS}; did you mean "throughput"?'),
    "a side's metric that it lacks": (
        lambda d: (test_of(d).pop("also"), test_of(d)["numerator"].update(metric="write_throughput")),
        f'claims[0] (N-C01).test.numerator.metric: found "write_throughput", expected {OF_PUTS}; did you mean '
        '"throughput"?'),
    "a control's metric that it lacks": (
        lambda d: d["controls"][0].update(metric="write_throughput"),
        f'controls[0] (N-K01).metric: found "write_throughput", expected {OF_PUTS}; did you mean "throughput"?'),
    "a control's further metric that it lacks": (
        lambda d: d["controls"][0].update(also=["write_throughput"]),
        f'controls[0] (N-K01).also[0]: found "write_throughput", expected {OF_PUTS}; did you mean "throughput"?'),
    "an inverse question's metric that it lacks": (
        lambda d: inverse(d).update(metric="write_throughput"),
        f'claims[3] (N-C04).inverse.metric: found "write_throughput", expected {OF_PUTS}; did you mean "throughput"?'),
    "a bias's metric that it lacks": (
        lambda d: d.update(biases=[{"cell": test_of(d)["numerator"], "metrics": ["write_time"], "lower": 1, "upper": 2,
                                    "source": "a study"}]),
        f'biases[0].metrics[0]: found "write_time", expected {OF_PUTS}'),
    "a reading's metric that it lacks": (
        lambda d: d["claims"][0].update(readings=[
            {"title": "t", "route": "emulated", "test": {**copy.deepcopy(test_of(d)), "metric": "write_time"}}]),
        f'claims[0] (N-C01).readings[0].test.metric: found "write_time", expected {OF_PUTS}'),
    "a cell's metric that nothing reads": (
        lambda d: as_share(d)["cell"].update(metric="throughput_sum"),
        'claims[0] (N-C01).test.cell.metric: found "throughput_sum", expected nothing: only numerator and denominator '
        "of a ratio have metrics of their own"),
    "a model of jobs": (
        lambda d: (of_jobs(d), d["claims"][0]["routes"].append("modelled")),
        'claims[0] (N-C01).routes[2]: found "modelled", expected a route without a model: none predicts runs of '
        "testdfsio (ingest)"),
    "an absolute value that emulated runs do not have": (
        lambda d: (of_jobs(d), as_share(d)), NO_FULL_SCALE.format("throughput")),
    "a further one": (
        lambda d: (of_jobs(d), as_share(d, metric="throughput_net", also=["write_time"])),
        NO_FULL_SCALE.format("write_time")),
    "a value at full scale over one that has none": (
        lambda d: (of_jobs(d), test_of(d)["denominator"].update(metric="throughput")),
        NO_FULL_SCALE.format("throughput")),
    # --- targets
    "a tolerance that nothing reads": (
        lambda d: as_share(d, relative=0.1),
        "claims[0] (N-C01).test.relative: found 0.1, expected nothing beside relation above: only within reads it"),
    "two tolerances": (
        lambda d: test_of(d).update(absolute=1),
        "claims[0] (N-C01).test.relative: found 0.1, expected nothing beside absolute"),
    "a reversed range": (
        lambda d: (test_of(d).pop("relative"), test_of(d).update(lower=7, upper=5)),
        "claims[0] (N-C01).test.lower: found 7, expected no more than upper, 5"),
    "a range without what is expected": (
        lambda d: (test_of(d).pop("relative"), test_of(d).update(lower=1, upper=5)),
        'claims[0] (N-C01).test.expected: found "N_V01", expected between 1 and 5'),
    "a misspelt estimand's key": (
        lambda d: renamed(test_of(d), "estimand", "estimnd"),
        'claims[0].test.estimnd: found an unknown key, expected estimand; did you mean "estimand"?'),
    "an unknown estimand": (
        lambda d: test_of(d).update(estimand="ratoi"),
        f'claims[0].test.estimand: found "ratoi", expected one of {ANY_ESTIMAND}; did you mean "ratio"?'),
    "no estimand": (
        lambda d: test_of(d).pop("estimand"),
        f"claims[0].test.estimand: found nothing, expected one of {ANY_ESTIMAND}"),
    # --- inverse questions
    "a curve with two fabrics of one rate": (
        lambda d: experiment(d)["factors"]["fabric"].append("10gbe-2racks-4to1"),
        'claims[3] (N-C04).inverse.experiment: found "ingest", expected an experiment with one fabric of each link '
        "rate, not 10gbe and 10gbe-2racks-4to1"),
    "a curve of two rates": (
        lambda d: experiment(d)["factors"].update(fabric=["1gbe", "10gbe"]),
        'claims[3] (N-C04).inverse.experiment: found "ingest", expected an experiment with at least 3 levels of '
        "fabric, not 2"),
    "a curve that only leaves two rates": (
        lambda d: experiment(d).update(only=[{"fabric": "1gbe"}, {"fabric": "10gbe"}]),
        'claims[3] (N-C04).inverse.experiment: found "ingest", expected an experiment with at least 3 levels of '
        "fabric, not 2"),
    "plausible reversed": (
        lambda d: inverse(d).update(plausible=[1.05, 1]),
        "claims[3] (N-C04).inverse.plausible: found [1.05, 1], expected the smaller ratio first"),
    "an effect below nothing": (
        lambda d: inverse(d).update(effect=-0.3),
        "claims[3] (N-C04).inverse.effect: found -0.3, expected a ratio above 0: the metric after over before"),
    # --- models
    "a sweep's argument": (
        lambda d: d["sweeps"][0].update(arguments={"factr": "link_ratio"}),
        'sweeps[0] (speedup).arguments: found "factr", expected an argument of amdahl.speedup; did you mean "factor"?'),
    "an argument that a sweep lacks": (
        lambda d: d["sweeps"][0].pop("arguments"),
        'sweeps[0] (speedup).arguments: found ["share"], expected factor among them, which amdahl.speedup needs'),
    "a name in a sweep's argument": (
        lambda d: d["sweeps"][0].update(arguments={"factor": "link_rato"}),
        "sweeps (speedup).arguments.factor: "
        "expression 'link_rato': found 'link_rato', expected a value id or a constant; did you mean \"link_ratio\"?"),
    "a sweep twice": (
        lambda d: d["sweeps"].append(d["sweeps"][0]), 'sweeps[1].id: found "speedup", expected every id only once'),
    "an argument that a test lacks": (
        lambda d: d["claims"][2]["test"]["arguments"].pop("factor"),
        'claims[2] (N-C03).test.arguments: found ["time_ratio"], expected factor among them, which '
        "amdahl.scaling_share needs"),
    # --- what nothing reads
    "settings without their factor": (
        lambda d: experiment(d).update(settings={"tuned": {"dfs.replication": 1}}),
        'experiments[0].settings: found ["tuned"], expected nothing without a factor settings: no run would read it'),
    "stores without their factor": (
        lambda d: of_jobs(d).update(stores={"one": {"kind": "hdfs"}}),
        'experiments[0].stores: found ["one"], expected nothing without a factor store: no run would read it'),
    "blocks of a file beside bytes": (
        lambda d: of_jobs(d).update(file_blocks={"smoke": 1, "quick": 1, "full": 1}),
        'experiments[0].file_blocks: found {"smoke": 1, "quick": 1, "full": 1}, expected nothing beside scale.bytes, '
        "which says how much is moved"),
    "a source of no entry": (
        lambda d: experiment(d)["hardware"]["sources"].update(rate_mb_s="x"),
        'experiments[0].hardware.sources: found "rate_mb_s", expected an entry of hardware.drive; did you mean '
        '"rate_mb_per_s"?'),
    "a read rate without its source": (
        lambda d: experiment(d)["hardware"]["drive"].update(read_rate_mb_per_s="500 MB/s"),
        "experiments[0].hardware.sources.read_rate_mb_per_s: found null, expected where the number comes from, or "
        "`assumption: …`"),
    "a source of no read rate": (
        lambda d: experiment(d)["hardware"].update(drives={"ssd": experiment(d)["hardware"]["drive"] | {
            "sources": experiment(d)["hardware"]["sources"] | {"read_rate_mb_per_s": "a data sheet"}}}),
        'experiments[0].hardware.drives.ssd.sources: found "read_rate_mb_per_s", expected an entry of '
        'hardware.drives.ssd; did you mean "rate_mb_per_s"?'),
    # --- stores
    "a store whose drives have one rate": (
        lambda d: (with_store(d, **SHAPE), with_read_rate(d)),
        'experiments[0].stores.one.kind: found "cephfs", expected hdfs: read_rate_mb_per_s is given, and object '
        "servers' drives have one rate for reading and writing"),
    "a store without a stripe": (
        lambda d: with_store(d, **{k: v for k, v in SHAPE.items() if k != "stripe_count"}),
        "experiments[0].stores.one.stripe_count: found null, expected a number, for a store of kind cephfs"),
    "more targets than there are": (
        lambda d: with_store(d, **SHAPE | {"stripe_count": 5}),
        "experiments[0].stores.one.stripe_count: found 5, expected at most 4: each of roles.oss has 4 targets"),
    "a store without servers": (
        lambda d: (with_store(d, **SHAPE), experiment(d)["roles"].pop("oss")),
        "experiments[0].roles.oss: found null, expected at least 1 for a store of kind cephfs"),
    "a level of a drive": (
        lambda d: experiment(d)["factors"].update(rate_mb_per_s=[100, 0]),
        "experiments[0].factors.rate_mb_per_s[1]: found 0, expected a number, more than 0, at most 1000000000"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_exact_line(name, tmp_path):
    change, line = FAULTS[name]
    assert said(tmp_path, change) == line


@pytest.mark.parametrize("change", [
    lambda d: None, with_read_rate, of_jobs, by_puts, as_share, lambda d: with_store(d, **SHAPE),
    lambda d: (of_jobs(d), as_share(d, metric="throughput_net")),
    lambda d: (of_jobs(d), as_share(d), d["claims"][0].update(routes=["measured"])),
    lambda d: (of_jobs(d), test_of(d).update(metric="throughput")),
])  # fmt: skip
def test_what_is_right_passes(change, tmp_path):
    """So the faults above are those that are named, and not of the paper that has them."""
    assert said(tmp_path, change) == ""


def without_experiments(data: dict) -> None:
    for key in ("experiments", "controls", "replicates", "scale", "blocks"):
        data.pop(key)
    data["claims"] = data["claims"][1:3]
    data["finding"] = data["headline"] = "N-C02"


def test_a_paper_without_experiments_needs_neither_replicates_nor_scale_and_has_no_looks(tmp_path):
    assert said(tmp_path, without_experiments) == ""
    line = said(tmp_path, lambda d: (without_experiments(d), d.update(looks={"quick": [3, 6]})))
    assert line == 'looks: found {"quick": [3, 6]}, expected none, since there are no replicates'
