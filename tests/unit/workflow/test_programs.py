"""What a rule depends on is what its stage imports, no less and no more."""

import subprocess
import sys

import pytest

from whitewire.paths import HOME
from whitewire.workflow.programs import modules, program

STAGES = ("tidy.tables", "analysis.analyse", "analysis.trust", "report.render")
LOADED = "import sys, whitewire.{}; print(*(name for name in sys.modules if name.startswith('whitewire.')))"


@pytest.mark.parametrize("stage", STAGES)
def test_a_rule_depends_on_every_module_that_its_stage_loads(stage):
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(stage)], capture_output=True, text=True, check=True, cwd=HOME / "src"
    )
    packages = {str(path.parent.relative_to(HOME / "src")).replace("/", ".")
                for path in (HOME / "src").rglob("__init__.py") if not path.read_text().strip()}  # fmt: skip
    assert set(done.stdout.split()) - packages == modules(stage) - packages - {"whitewire"}  # its version alone


@pytest.mark.parametrize("stage", STAGES)
def test_its_files_are_there(stage):
    files = program(stage)
    assert files == sorted(set(files)) and f"src/whitewire/{stage.replace('.', '/')}.py" in files
    assert all((HOME / file).is_file() for file in files)


def test_no_stage_after_the_measurements_depends_on_what_measures():
    for stage in STAGES:
        assert not [name for name in modules(stage) if {*name.split(".")[1:2]} & {"testbed", "cluster", "measure"}]
