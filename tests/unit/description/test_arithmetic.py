"""Expressions are arithmetic over named numbers, and nothing else."""

import time

import pytest

from whitewire.description import arithmetic

NAMES = {"E_V01": 2, "E_V02": [1, 2.5, 4], "E_V03": "3.1.0", "k": 10}
WITHOUT_VALUE = {
    "a = 1": "invalid syntax",
    "1;2": "invalid syntax",
    "import os": "invalid syntax",
    "": "invalid syntax",
    "(" * 500: "too many nested parentheses",
    "-" * 900 + "1": "operations inside each other",
    "+".join(["1"] * 45): "operations inside each other",
    "1+" * 600 + "1": "found 1201 characters",
    "9**9**9": "too large",
    "9**9**9**9**9": "too large",
    "((9**99)**99)**99": "too large",
    "9**4000000 * 9**4000000": "too large",
    "1e999": "finite",
    "1e308 * 10": "finite",
    "1e999 - 1e999": "finite",
    "9" * 900: "too large",
    "1/0": "division by zero",
    "0.0**-1": "domain",
    "(-8) ** 0.5": "domain",
    "round(5, -1000000000)": "digits",
    "round(1.5, 'a')": "expected arithmetic",
    "E_V04": "found 'E_V04', expected a value id or a constant",
    "E_V02": "found a list, expected a number",
    "E_V02[9]": "out of range",
    "E_V02[0:1]": "expected arithmetic",
    "E_V02 * 1000000000": "found a list, expected numbers",
    "E_V03": "found text, expected a number",
    "E_V03 * 1000000000": "found text, expected numbers",
    "'7'": "expected arithmetic",
    "True": "expected arithmetic",
    "1j": "expected arithmetic",
    "1 < 2": "expected arithmetic",
    "1 if k else 2": "expected arithmetic",
    "[1, 2][0]": "expected arithmetic",
    "E_V01.real": "expected arithmetic",
    "k.__class__": "expected arithmetic",
    "__import__('os').system('id')": "expected arithmetic",
    "open": "found 'open'",
    "open('x')": "found 'open', expected arithmetic",
    "max(E_V02, key=k)": "expected arithmetic",
    "(lambda: 1)()": "expected arithmetic",
    "[x for x in E_V02]": "expected arithmetic",
    "f'{k}'": "expected arithmetic",
    "7 % 2": "operator Mod",
    "1 << 1000000": "operator LShift",
    "~1": "operator Invert",
    "max(1)": "not iterable",
    "nan": "found 'nan'",
    "1\0": "expected arithmetic",
}


@pytest.mark.parametrize("expression", WITHOUT_VALUE, ids=lambda text: repr(text[:30]))
def test_what_is_no_arithmetic_is_reported_at_once(expression):
    began = time.monotonic()
    with pytest.raises(arithmetic.NoValue) as raised:
        arithmetic.value_of(expression, NAMES)
    assert time.monotonic() - began < 1
    assert WITHOUT_VALUE[expression] in str(raised.value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("E_V01 / k + E_V02[2]", 4.2), (" 4 * E_V01 ", 8), ("max(E_V02) - min(1, k)", 3), ("abs(-k)", 10),
        ("round(E_V02[1] / 3, 2)", 0.83), ("round(2.6)", 3), ("2 ** 10", 1024), ("k ** -1", 0.1), ("E_V02[-1]", 4),
        ("(1 +\n2)", 3),
    ],
)  # fmt: skip
def test_arithmetic_has_its_value(expression, value):
    assert arithmetic.value_of(expression, NAMES) == pytest.approx(value)
