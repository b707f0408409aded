"""The plugin, the reader and the prose of the facts agree on every number."""

import re
from enum import IntEnum, IntFlag
from pathlib import Path

import pytest

from leakline.static.facts import VERSION, ParameterFlag
from leakline.static.instructions import (
    INSTRUCTION_CLASSES,
    AccessFlag,
    AsmFlag,
    CallFlag,
    Op,
)

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "native/pass/facts_op.h").read_text()
PROSE = (ROOT / "native/format/facts.md").read_text()

# Enumerators of the plugin whose names would clash with others there.
RENAMED = {
    "atomicaccess": "atomic",
    "nonnullparameter": "nonnull",
    "byvalparameter": "byval",
    "sretparameter": "sret",
}


def enumerators(name: str) -> dict[str, int]:
    """Names and numbers of an enumeration in the plugin's header."""
    match = re.search(rf"enum {name} {{(.*?)}}", HEADER, re.DOTALL)
    assert match
    numbers: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in match[1].split(","))):
        word, _, number = entry.partition("=")
        key = word.strip().removeprefix("k").lower()
        numbers[RENAMED.get(key, key)] = int(number) if number else len(numbers)
    return numbers


@pytest.mark.parametrize(
    "python",
    [Op, CallFlag, AccessFlag, AsmFlag, ParameterFlag],
    ids=lambda e: e.__name__,
)
def test_plugin_and_reader_use_the_same_numbers(
    python: type[IntEnum] | type[IntFlag],
) -> None:
    ours = {str(member.name).lower().replace("_", ""): int(member) for member in python}
    assert enumerators(python.__name__) == ours


def rows() -> list[tuple[int, str, list[str]]]:
    """Number, name and fields of each instruction in the prose."""
    found = re.findall(r"^\| (\d+) \| (\w+) \| (.*)\|$", PROSE, re.MULTILINE)
    return [
        (int(number), name, re.findall(r"`(\w+)`", text))
        for number, name, text in found
    ]


def test_every_instruction_is_described() -> None:
    assert [(number, name.upper()) for number, name, _ in rows()] == [
        (int(op), op.name) for op in Op
    ]


@pytest.mark.parametrize("op", Op, ids=lambda op: op.name)
def test_fields_are_described_in_their_order(op: Op) -> None:
    fields = list(INSTRUCTION_CLASSES[op]._fields[3:])
    described = [word for word in rows()[op][2] if word in fields]
    if op is Op.INVOKE:
        fields = ["normal", "unwind"]
        described = [word for word in described if word in fields]
    assert list(dict.fromkeys(described)) == fields


def test_the_version_is_the_same_everywhere() -> None:
    unit = (ROOT / "native/pass/facts_unit.cpp").read_text()
    assert f'"version", {VERSION})' in unit
    assert f'`"version": {VERSION}`' in PROSE
