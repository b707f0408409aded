"""What random programs are made of, read from the C++ files of this folder.

A name that ends in `_` gets a number, so that a program can have the same piece twice.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "cpp"

_OWN_NAME = re.compile(r"\b([A-Za-z]\w*_)\b")
_NOISE = re.compile(r"^void (\w+)\(int step\) \{\n(.*?)^\}\n", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"// lost( inside)?: (\S+)$", re.MULTILINE)
_MAKER = """\
NOINLINE static char* block_() {
    char* fresh = allocate(made[MAKER], SIZE);
    KEEP(fresh);
    return fresh;
}
"""


@dataclass(frozen=True, slots=True)
class Noise:
    """Statements that lose nothing.

    Attributes:
        name: What they do.
        body: The lines; `N` and `M` stand for lengths, `step` is a parameter.
    """

    name: str
    body: str


@dataclass(frozen=True, slots=True)
class Way:
    """Functions of which `lose_` loses the block that `block_` made.

    Attributes:
        name: How it is lost.
        text: The functions; `MAKER` stands for the number of `block_`, `SIZE` for its
            bytes.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What the report has to tell of the blocks of one maker.

    Attributes:
        line: Where the program loses them.
        cause: Why.
        inside: Whether a function of the library does it that this line calls.
    """

    line: int
    cause: str
    inside: bool


@cache
def shared_head() -> str:
    """Return what all programs of a file share."""
    return _read("head.cpp") + _read("kinds.cpp")


@cache
def long_lived() -> str:
    """Return what each program has of its own as long as it runs."""
    return _read("long_lived.cpp")


@cache
def all_noise() -> list[Noise]:
    """Return the statements that lose nothing."""
    files = sorted(FOLDER.glob("noise/*.cpp"))
    return [Noise(*found) for file in files for found in _NOISE.findall(_text(file))]


@cache
def all_ways() -> list[Way]:
    """Return the ways to lose a block."""
    listed = []
    for file in sorted(FOLDER.glob("losses/*.cpp")):
        for section in re.split(r"^// ", _text(file), flags=re.MULTILINE):
            name, _, text = section.partition("\n")
            if "lose_()" in text:
                maker = "" if " block_() {" in text else _MAKER
                listed.append(Way(name, f"// {name}\n{maker}{text.rstrip()}\n"))
    return listed


def numbered(text: str, number: int) -> str:
    """Give the names that end in `_` a number."""
    return _OWN_NAME.sub(rf"\g<1>{number}", text)


def marked_loss(text: str, first_line: int) -> Loss:
    """Return the loss that a way marks, if its text begins at this line."""
    (mark,) = _MARK.finditer(text)
    line = first_line + text.count("\n", 0, mark.start())
    return Loss(line, mark[2], inside=bool(mark[1]))


def _read(name: str) -> str:
    return _text(FOLDER / name)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
