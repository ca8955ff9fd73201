"""YAML that would stop or fill the machine, and numbers that are none, each end in one line and at once."""

import time

import pytest

from whitewire.description import reading
from whitewire.errors import UserError

LAUGHS = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
MERGES = "a0: &a0 {k: 1, l: 2}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}], k{n}: 1}}\n" for n in range(1, 12)
)
HOSTILE = {
    "more bytes than a file has": ("a: " + "x" * reading._MOST_BYTES, "found more than 1000000 bytes"),
    "a hundred lists inside each other": ("a: " + "[" * 100 + "]" * 100, "found more than 30 levels"),
    "half a million lists inside each other": ("a: " + "[" * 499_000 + "]" * 499_000, "found more than 30 levels"),
    "half a million mappings": ("a: " + "{b: " * 150_000 + "}" * 150_000, "found more than 30 levels"),
    "block lists inside each other": ("a:\n " + "- " * 499_000 + "b", "found more than 30 levels"),
    "a key that is a deep list": ("? " + "[" * 400_000 + "]" * 400_000 + "\n: 1", "found more than 30 levels"),
    "a billion laughs": (LAUGHS, "found more than 60000 values"),
    "a billion merges": (MERGES, "found more than 60000 values"),
    "many values": ("a: [" + "1, " * 200_000 + "1]", "found more than 60000 values"),
    "an alias of what it is in": ("a: &a [*a]", "the alias *a is inside what it stands for"),
    "an anchor that is none": ("a: *b", "not valid YAML"),
    "a tag of a number": ("a: !!int abc", 'found the tag "tag:yaml.org,2002:int"'),
    "a tag of Python": ("a: !!python/object/apply:os.system [ls]", "found the tag"),
    "a tag of its own": ("a: !foo 1", 'found the tag "!foo"'),
    "a tag that says nothing": ("a: ! 1", 'found the tag "!"'),
    "a tag of a list": ("a: !!set [1]", "found the tag"),
    "no number": ("a: {b: [1, .nan]}", "a.b[1]: found nan, expected a finite number"),
    "infinity": ("a: -.inf", "a: found -inf, expected a finite number"),
    "an exponent beyond all": ("a: 1.0e+999", "a: found inf, expected a finite number"),
    "a large number": ("a: 1.0e+19", "a: found 1e+19, expected a number of at most 1e+18"),
    "a large whole number": ("a: -1000000000000000001", "expected a number of at most 1e+18"),
    "a tiny number": ("a: 1.0e-300", "a: found 1e-300, expected 0, or a number of at least 1e-18"),
    "5,000 digits": ("a: " + "9" * 5000, "found a number of 5000 digits"),
    "a number of no digits": ("a: 0b_", 'found "0b_", expected a whole number in decimal digits'),
    "a hexadecimal number": ("a: 0x1F", "expected a whole number in decimal digits"),
    "an octal number": ("a: 017", "expected a whole number in decimal digits"),
    "a time of the day": ("a: 1:30", "expected a whole number in decimal digits"),
    "a time with a fraction": ("a: 1:30.5", "expected a number, or text in quotes"),
    "a NUL byte": ("a: b\0c", "not valid YAML"),
    "a NUL character": ('a: "b\\0c"', 'a: found "b\\u0000c", expected text without control characters'),
    "a sequence for the terminal": ('a: "\\e[31m"', "expected text without control characters"),
    "a key for the terminal": ('"\\e[31m": 1', "has control characters"),
    "a key of two lines": ('"a\\n": 1', 'the key "a\\n" has control characters'),
    "a long key": ("b" * 500 + ": 1", "a key has 500 characters"),
    "a number for a key": ("1: 2", "the key 1 is no text"),
    "no key": ("~: 2", "the key None is no text"),
    "two documents": ("a: 1\n---\na: 2\n", "not valid YAML"),
    "nothing but a comment": ("# nothing\n", "found an empty file"),
    "an equals sign": ("a: =", "not valid YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_is_one_line_and_at_once(name, tmp_path):
    text, said = HOSTILE[name]
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    began = time.monotonic()
    with pytest.raises(UserError) as raised:
        reading.load_yaml(path)
    assert time.monotonic() - began < 2
    message = str(raised.value)
    assert said in message and "x.yaml: " in message
    assert "\n" not in message and "\x1b" not in message and len(message) < 400


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    for name, said in (("pipe", "no plain file"), ("endless", "no plain file"), ("loop", "cannot be read")):
        with pytest.raises(UserError, match=said):
            reading.load_yaml(tmp_path / f"{name}.yaml")


def test_what_is_within_the_bounds_is_read(tmp_path):
    path = tmp_path / "x.yaml"
    deep = "[" * (reading._MOST_LEVELS - 1) + "]" * (reading._MOST_LEVELS - 1)
    path.write_text(f"a: {deep}\nb: &b [1, 2.5, -0.0, 1_000, 1000000000000000000]\nc: [*b, *b]\nd: 2026-13-45\n")
    found = reading.load_yaml(path)
    assert found["c"] == [[1, 2.5, 0, 1000, 10**18]] * 2
    assert found["d"] == "2026-13-45"
