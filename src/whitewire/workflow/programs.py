"""Files of this checkout that a rule depends on: modules that a stage imports, directly or indirectly, and
documents."""

from __future__ import annotations

from functools import cache

import grimp

from whitewire.paths import HOME

_PACKAGE = "whitewire"


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(_PACKAGE, cache_dir=None)


def modules(stage: str) -> set[str]:
    """Names of all modules that a stage's module (`tidy.tables`) needs, its own too."""
    name = f"{_PACKAGE}.{stage}"
    return {name} | _graph().find_upstream_modules(name)


def program(stage: str) -> list[str]:
    """Files of those modules, as paths from the repository's top. A package's own file counts where it is imported."""
    found = []
    for name in sorted(modules(stage)):
        path = HOME / "src" / name.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        found.append(str(file.relative_to(HOME)))
    return found


def program_files(*patterns: str) -> list[str]:
    """Files of the repository that match, as paths from its top."""
    return sorted(str(path.relative_to(HOME)) for p in patterns for path in HOME.glob(p) if path.is_file())
