"""Scale candidates: what a paper may write, and what replaces the list."""

import pytest

from tests.support import quick_yaml
from tests.support.papers import TESTBED, edited
from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.paths import HOME

FABRICS = TESTBED["fabrics"]


def with_k(tmp_path, k, own=None):
    def change(data):
        data["scale"]["k"], data["biases"] = k, []  # which are one for each k
        if own is not None:
            data["experiments"][0].pop("file_blocks")
            data["experiments"][0]["scale"] = {
                "k": own,
                "bytes": {"smoke": 4e6, "quick": 4e6, "full": 4e6},
                "splits": 2,
            }

    return load_paper(edited(tmp_path, change), FABRICS)


def test_a_single_k_is_the_only_candidate(tmp_path):
    paper = with_k(tmp_path, 128)
    assert (paper.candidate_count, paper.candidate, paper.raw["scale"]["k"]) == (1, 0, 128)
    assert paper.on(3).raw["scale"]["k"] == 128


def test_all_lists_of_candidates_move_on_together(tmp_path):
    paper = with_k(tmp_path, [128, 256, 512], own=[64, 100])
    assert paper.candidate_count == 3
    shown = [(on.raw["scale"]["k"], on.experiments["put-grid"]["scale"]["k"]) for on in map(paper.on, range(3))]
    assert shown == [(128, 64), (256, 100), (512, 100)]
    assert paper.on(2).on(0) == paper


def test_a_larger_k_moves_fewer_bytes_so_that_times_stay(tmp_path):
    paper = with_k(tmp_path, [128, 256], own=[64, 100])
    assert [on.experiments["put-grid"]["scale"]["bytes"]["quick"] for on in (paper, paper.on(1))] == [4000000, 2560000]
    alone = with_k(tmp_path, [128, 256], own=64)
    assert alone.on(1).experiments["put-grid"]["scale"]["bytes"]["quick"] == 4e6


def test_runs_keep_their_names_at_every_candidate(tmp_path):
    """The design is that of the first k; what a run really had is in its record."""
    plain, several = with_k(tmp_path, 128), with_k(tmp_path, [128, 256])
    ids = [row["run_id"] for row in make_design(plain, TESTBED, "smoke", 1)]
    assert [row["run_id"] for row in make_design(several, TESTBED, "smoke", 1)] == ids
    levels = {"fabric": "1gbe", "clients": 1, "puts_per_client": 1}
    assert [scale_of(several.on(n), "put-grid", "smoke", levels).k for n in (0, 1)] == [128, 256]


@pytest.mark.parametrize(
    ("k", "said"),
    [
        ([256, 128], "scale.k: found [256, 128], expected a list of k that increases"),
        ([128, 128], "scale.k: found [128, 128], expected a list of k that increases"),
        ([], "scale.k"),
        ([0, 128], "scale.k"),
        ([128, "256"], "scale.k"),
        ([1.5], "scale.k"),
        ("128, 256", "scale.k"),
    ],
)
def test_a_wrong_list_of_k_is_one_line(tmp_path, k, said):
    with pytest.raises(UserError, match=r"^[^\n]*$") as error:
        with_k(tmp_path, k)
    assert said in str(error.value)


def test_looks_that_a_block_cannot_have_are_one_line(tmp_path):
    with pytest.raises(UserError, match=r"blocks\.quick: found 2, expected 1, since looks\.quick has several"):
        load_paper(edited(tmp_path, lambda data: data["blocks"].update(quick=2)), FABRICS)


def test_bounds_on_processors_belong_to_the_kind_of_testbed(tmp_path, monkeypatch):
    text, path = project.testbed_path("emulated").read_text(), tmp_path / "emulated.yaml"
    monkeypatch.setattr(testbed, "testbed_path", lambda name: path)
    path.write_text(text.replace("  cpu_late_ms:", "  cpu_idle_floor: 0.3\n  cpu_late_ms:"))
    with pytest.raises(UserError, match=r"limits\.cpu_idle_floor: found 0\.3, expected none: it counts on sites only"):
        load_testbed("emulated")
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "cpu_late_ms" not in line))
    with pytest.raises(UserError, match=r"limits\.cpu_late_ms: found none, expected a number"):
        load_testbed("emulated")


def without_experiments(tmp_path, change):
    """The template's paper with its arithmetic claim alone."""
    data = quick_yaml.load((HOME / "docs" / "template" / "paper.yaml").read_text())
    for key in ("experiments", "controls", "scale", "replicates", "blocks"):
        del data[key]
    data |= {"claims": [claim for claim in data["claims"] if claim["id"] == "N-C02"]}
    data |= {"finding": "N-C02", "headline": "N-C02"} | change
    path = tmp_path / "made-up-2026.yaml"
    path.write_text(quick_yaml.dump(data))
    return load_paper(path, FABRICS)


def test_several_k_without_experiments_are_candidates(tmp_path):
    paper = without_experiments(tmp_path, {"scale": {"k": [128, 256], "block_granule_bytes": 512}})
    assert [paper.on(candidate).raw["scale"]["k"] for candidate in range(paper.candidate_count)] == [128, 256]


@pytest.mark.parametrize("more", [{}, {"looks": {effort: [3, 6] for effort in ("smoke", "quick", "full")}}])
def test_replicates_without_blocks_are_one_line(tmp_path, more):
    runs = dict.fromkeys(("smoke", "quick", "full"), {"claimed": 6, "other": 0})
    with pytest.raises(UserError, match=r"made-up-2026\.yaml: blocks: .*expected one, since there are replicates"):
        without_experiments(tmp_path, {"replicates": runs} | more)
