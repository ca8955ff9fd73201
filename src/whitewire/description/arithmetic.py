"""Expressions of papers: arithmetic over named numbers, and nothing else. Pure."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import simpleeval

from whitewire.text import suggestion

MOST_CHARACTERS = 1000
_MOST_LEVELS = 40
"""Most operations inside each other; a sum of n terms has n."""
_MOST_DIGITS = 20
"""Decimal digits to which `round` rounds."""
_EXPECTED = "expected arithmetic over value ids and constants: + - * / **, max, min, abs, round"
_PARTS = (
    ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Constant, ast.Name, ast.Call, ast.Subscript, ast.Load,
)  # fmt: skip
"""Syntax that an expression may use."""


class NoValue(ValueError):
    """The text is no expression, or has no value; the message says what was found and what was expected."""


def _of_numbers(operation: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*values: Any) -> Any:
        for value in values:
            if not isinstance(value, int | float):
                raise NoValue(f"found {_kind(value)}, expected numbers")
        return operation(*values)

    return checked


def _round(value: float, digits: int = 0) -> float:
    if abs(digits) > _MOST_DIGITS:
        raise NoValue(f"found {digits} digits, expected at most {_MOST_DIGITS}")
    return round(value, digits) if digits else round(value)


_OPERATORS = {
    ast.Add: _of_numbers(operator.add), ast.Sub: _of_numbers(operator.sub), ast.Mult: _of_numbers(operator.mul),
    ast.Div: _of_numbers(operator.truediv), ast.Pow: _of_numbers(math.pow),
    ast.USub: _of_numbers(operator.neg), ast.UAdd: _of_numbers(operator.pos),
}  # fmt: skip
_FUNCTIONS = {"max": max, "min": min, "abs": _of_numbers(abs), "round": _of_numbers(_round)}


def value_of(expression: str, names: Mapping[str, Any]) -> float:
    """The finite number that an expression comes to with these names. Raises NoValue."""
    tree = _tree(expression)
    try:
        found = simpleeval.SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=dict(names)).eval(
            expression, tree
        )
        if not isinstance(found, int | float):
            raise NoValue(f"found {_kind(found)}, expected a number")
        result = float(found)
    except simpleeval.NameNotDefined as error:
        name = str(getattr(error, "name", "")) or str(error)
        raise NoValue(f"found {name!r}, expected a value id or a constant{suggestion(name, names)}") from None
    except OverflowError:
        raise NoValue("found a number that is too large to compute with, expected a finite one") from None
    except NoValue:
        raise
    except Exception as error:
        raise NoValue(str(error)) from None
    if not math.isfinite(result):
        raise NoValue(f"found {result}, expected a finite number")
    return result


def _tree(expression: str) -> ast.expr:
    if len(expression) > MOST_CHARACTERS:
        raise NoValue(f"found {len(expression)} characters, expected at most {MOST_CHARACTERS}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise NoValue(f"{error.msg}; {_EXPECTED}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NoValue(f"{error}; {_EXPECTED}") from None
    left: list[tuple[ast.AST, int]] = [(tree, 1)]
    while left:
        node, level = left.pop()
        if level > _MOST_LEVELS:
            raise NoValue(f"found more than {_MOST_LEVELS} operations inside each other, expected fewer")
        number = not isinstance(node, ast.Constant) or (type(node.value) in (int, float))
        if not isinstance(node, _PARTS) or not number or (isinstance(node, ast.Call) and node.keywords):
            raise NoValue(f"found {ast.unparse(node)[:60]!r}, {_EXPECTED}")
        if isinstance(node, ast.operator | ast.unaryop) and type(node) not in _OPERATORS:
            raise NoValue(f"found the operator {type(node).__name__}, {_EXPECTED}")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS):
            raise NoValue(f"found {ast.unparse(node.func)[:60]!r}, {_EXPECTED}")
        left += [(child, level + 1) for child in ast.iter_child_nodes(node)]
    return tree


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "no number"
