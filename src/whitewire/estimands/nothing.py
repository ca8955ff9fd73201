"""`none`: a claim that no testbed here can test, and what is lacking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.estimands.base import Estimand, text_key


class Nothing(Estimand):
    name: ClassVar[str] = "none"
    meaning: ClassVar[str] = "No test: the claim is not testable."
    keys: ClassVar[Mapping[str, Any]] = {
        "missing": text_key(
            "What every testbed here lacks, as the verdict's reason prints it.", examples=["the adapter"]
        ),
        "testbed": text_key(
            "Which testbed would do, as the verdict's reason prints it.", examples=["five servers with it"]
        ),
    }
    relations: ClassVar[tuple[str, ...]] = ()
    routes: ClassVar[tuple[str, ...]] = ("not_testable",)

    def describe(self) -> str:
        return ""

    def untestable(self) -> str:
        return f"missing: {self.test['missing']}; testbed that would do: {self.test['testbed']}"
