"""The commands that documentation, and messages of the code, ask the reader to run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
TYPED = [HOME / "README.md", HOME / "CONTRIBUTING.md", HOME / "config" / "README.md",
         HOME / "docs" / "use" / "add-a-paper.md", HOME / "docs" / "use" / "measure.md"]  # fmt: skip
"""Pages that a person works by: also within their sentences a command stands as it is typed."""
DOCUMENTS = [*TYPED, *sorted({*(HOME / "docs").rglob("*.md")} - {*TYPED})]
CODE = [
    HOME / "Makefile", HOME / "workflow" / "Snakefile", *sorted((HOME / "scripts").iterdir()),
    *sorted((HOME / "workflow" / "rules").iterdir()), *sorted((HOME / "src" / "whitewire").rglob("*.py")),
]  # fmt: skip
SPAN = re.compile(r"`([^`]+)`")
PLACEHOLDER = re.compile(r"[…{}<>]")
"""What stands for something else, so the line is no command as it is."""


def blocks(text: str) -> tuple[list[str], str]:
    """The lines of a document's code blocks, continued ones joined, and the text between the blocks."""
    code, prose, fenced = [], [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            code.append(line.strip())
        else:
            prose.append(line)
    return "\n".join(code).replace("\\\n", "").splitlines(), "\n".join(prose)


def commands(program: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every command of a program with the name of its file: in code blocks, and between backticks in a text.

    The program's name alone between backticks is a name and no command.
    """
    for path in (*DOCUMENTS, *CODE):
        lines, spans = commands_in(path)
        for line in (*lines, *spans):
            if re.match(rf"(\.venv/bin/)?{program}( |$)", line) and not PLACEHOLDER.search(line):
                yield path.relative_to(HOME).as_posix(), tuple(shlex.split(line, comments=True)[1:])


def commands_in(path: Path) -> tuple[list[str], list[str]]:
    """The lines of a document's code blocks, and what has a blank between backticks in the text."""
    text = path.read_text(encoding="utf-8")
    lines, prose = blocks(text) if path in DOCUMENTS else ([], text)
    return lines, [span for span in (" ".join(each.split()) for each in SPAN.findall(prose)) if " " in span]


def not_on_the_path() -> list[str]:
    """Commands of programs of `.venv/bin` that a document has without that folder, where they are to be typed."""
    found = []
    for path in DOCUMENTS:
        lines, spans = commands_in(path)
        typed = (*lines, *spans) if path in TYPED else lines
        found += [f"{path.relative_to(HOME)}: {line}" for line in typed if re.match(r"(whitewire|snakemake) ", line)]
    return found


def distinct(program: str) -> list[tuple[str, ...]]:
    """The arguments of each distinct command of a program."""
    return list(dict.fromkeys(arguments for _, arguments in commands(program)))
