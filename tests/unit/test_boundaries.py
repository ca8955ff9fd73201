"""Boundaries that import-linter does not check: public names, and the functions of documents."""

import re
import symtable
from collections import Counter, defaultdict
from pathlib import Path

from whitewire.report import generated

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "whitewire"
MODULES = sorted(PACKAGE.rglob("*.py"))

LISTS_OF_HOSTS = {f"testbed/site/listing/{name}.py" for name in ("cloudlab", "enoslib", "host_file", "tofu")}
GENERATED_PAGES = {Path(made.__file__).relative_to(PACKAGE).as_posix() for made in generated.PAGES}
PROTOCOLS = {
    "fits": LISTS_OF_HOSTS, "hosts": LISTS_OF_HOSTS,  # called through the table FORMS
    "PAGE": GENERATED_PAGES, "page": GENERATED_PAGES,  # `whitewire docs` writes each in turn
}  # fmt: skip
"""Names that several modules have because they are used in place of each other."""


def _public_names(path):
    symbols = symtable.symtable(path.read_text(encoding="utf-8"), str(path), "exec").get_symbols()
    own = (symbol.get_name() for symbol in symbols if symbol.is_assigned() and not symbol.is_imported())
    return {name for name in own if not name.startswith("_")}


def test_public_names_have_one_definition_each():
    """Whoever searches for a name finds one thing. What only its module uses begins with an underscore."""
    defined = defaultdict(set)
    for path in MODULES:
        for name in _public_names(path):
            module = path.relative_to(PACKAGE).as_posix()
            defined[name].add("a protocol" if module in PROTOCOLS.get(name, ()) else module)
    assert len(defined) > 1000
    assert {name: sorted(modules) for name, modules in defined.items() if len(modules) > 1} == {}


def test_functions_of_documents_have_a_name_each():
    """A document reads its functions into one environment: a second one of a name would replace the first."""
    defined = Counter(
        name
        for path in sorted((PACKAGE.parents[1] / "paper" / "R").rglob("*.R"))
        for name in re.findall(r"^([\w.]+) <- function", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(defined) > 50
    assert [name for name, times in defined.items() if times > 1] == []
