"""The generated pages of documentation, which `make docs` writes to build/docs. docs/README.md lists them."""

from __future__ import annotations

from whitewire.description import factor_page, keys
from whitewire.report import catalogue_page, similitude_page

PAGES = (keys, factor_page, catalogue_page, similitude_page)
"""Modules, each with the path `PAGE` and the function `page` that makes its text."""
