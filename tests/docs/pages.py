"""The examples in the documentation: which commands a page shows, and what they print.

In a block `console`, a line that begins with `$ ` is a command and what follows is its
output; `...` on a line of its own stands for any lines. The lines of a block `sh` are
commands whose output is not shown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Numbers that differ from run to run or from machine to machine.
_VARYING = (
    (re.compile(r"\b([Pp]rocess|pid) \d+"), r"\1 N"),
    (re.compile(r"([Pp]rocess N) \(\S*/"), r"\1 ("),
    (re.compile(r"==\d+=="), "==N=="),
    (re.compile(r"\b\d+ of \d+ stores"), "N of M stores"),
    (re.compile(r"\+0x[0-9a-f]+"), "+0xN"),
    (re.compile(r"\b0x[0-9A-Fa-f]+"), "0xN"),
    (re.compile(r"\d+\.\d+ ?s\b"), "T s"),
    (re.compile(r"LD_PRELOAD=\S*/"), "LD_PRELOAD="),
)


@dataclass(frozen=True)
class Example:
    """A command and the pieces of output that must follow each other; none: not shown."""

    command: str
    pieces: tuple[str, ...] | None


def examples(page: Path) -> list[Example]:
    """The commands of a page, in their order."""
    found: list[Example] = []
    for kind, content in _BLOCK.findall(page.read_text()):
        if kind == "console":
            found += _session(content)
        elif kind == "sh":
            found += [Example(line, None) for line in _commands(content)]
    return found


def unmarked_commands(page: Path) -> list[str]:
    """Lines of other blocks that look like commands and would not be run."""
    return [
        line
        for kind, content in _BLOCK.findall(page.read_text())
        if kind not in ("console", "sh")
        for line in content.splitlines()
        if re.match(r"(\$ )?leakline(-valgrind)? (?!COMMAND)[a-z-]+ [^A-Z\[]*$", line)
    ]


def normalised(text: str) -> str:
    """The text without what varies, and without spaces that depend on its width."""
    joined = " ".join(text.split())
    for pattern, replacement in _VARYING:
        joined = pattern.sub(replacement, joined)
    return joined


def _session(content: str) -> Iterator[Example]:
    for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        pieces = re.split(r"^\.\.\.$", output, flags=re.MULTILINE)
        yield Example(_without_comment(command), tuple(map(normalised, pieces)))


def _commands(content: str) -> Iterator[str]:
    joined = content.replace("\\\n", " ")
    for line in joined.splitlines():
        command = _without_comment(line)
        if command:
            yield command


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#\s.*$", "", line).strip()
