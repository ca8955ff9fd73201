"""A changed number of the rule makes a new version of it, and pages that name the number say the new one."""

import pytest

from whitewire.paths import HOME
from whitewire.rule import ALPHA, POWER, RULE_VERSION, SMALLEST_EFFECT
from whitewire.statistics import FEWEST

PERCENT = f"{100 * SMALLEST_EFFECT:g} %"


def test_a_changed_number_is_a_new_version():
    numbers = {"ALPHA": ALPHA, "POWER": POWER, "SMALLEST_EFFECT": SMALLEST_EFFECT, "FEWEST": FEWEST}
    known = {"2026-11-28": {"ALPHA": 0.05, "POWER": 3.0, "SMALLEST_EFFECT": 0.02, "FEWEST": 3}}
    assert known.get(RULE_VERSION) == numbers, "give rule.RULE_VERSION today's date, and `known` its numbers"


@pytest.mark.parametrize(("page", "words"), [
    ("docs/decisions/0015-the-rule.md", f"Rule `{RULE_VERSION}`"),
    ("docs/use/verdict-rules.md", f"else {PERCENT}, or"),
    ("docs/use/verdict-rules.md", f"no effect above {PERCENT}"),
    ("docs/use/add-a-paper.md", f"without it {PERCENT}"),
    ("paper/parts/rules.qmd", f"no effect that matters ({PERCENT}, or"),
    ("paper/parts/rules.qmd", f"needs p < {ALPHA:g} after Holm's correction"),
    ("docs/use/verdict-rules.md", f"with p < {ALPHA:g} after Holm's correction"),
    ("paper/index.qmd", f"const certain = p < {ALPHA:g} &&"),
])  # fmt: skip
def test_pages_name_the_numbers_of_the_rule(page, words):
    assert words in (HOME / page).read_text(encoding="utf-8"), f"{page}: expected {words!r}, as rule.py says"
