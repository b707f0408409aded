"""Writes the Python view of the native contracts.

Reads `records.def`, `records.h` and `options.def` under `native/format` and writes
`src/leakline/recording/_format.py`. With `--check` nothing is written; the exit code
says whether the file is up to date. A record carries text when a comment that starts
with `text:` stands above it.
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMAT = ROOT / "native" / "format"
TARGET = ROOT / "src" / "leakline" / "recording" / "_format.py"

# Field types of records.def as codes of the `struct` module.
CODES = {"u16": "H", "u32": "I", "u64": "Q", "i64": "q"}

# The types of options.def as Python types.
OPTION_TYPES = {"TEXT": "str", "NUMBER": "int", "SWITCH": "bool"}

TEXT = re.compile(r"//\s*text:")
RECORD = re.compile(r"RECORD\((\w+),\s*(\d+)\)")
FIELD = re.compile(r"FIELD\((\w+),\s*(\w+)\)")
CONSTANT = re.compile(r"CONSTANT\((\w+),\s*(\w+),\s*(\d+)\)")
OPTION = re.compile(r'OPTION\((\w+),\s*(\w+),\s*("[^"]*"|\d+),\s*"([^"]*)"\)')
MAGIC = re.compile(r"#define LL_(FILE|CHUNK)_MAGIC (0x[0-9a-f]+)")
VERSION = re.compile(r"LL_RECORDING_VERSION = (\d+)")


@dataclass
class Record:
    """One RECORD of records.def; tag 0 marks headers."""

    name: str
    tag: int
    has_text: bool
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def class_name(self) -> str:
        """The NamedTuple's name."""
        return camel_case(self.name) + ("" if self.tag == 0 else "Record")

    @property
    def layout(self) -> str:
        """The fields in the notation of the `struct` module, without byte order."""
        return "".join(CODES[kind] for kind, _ in self.fields)


@dataclass
class Tables:
    """All that the contracts define."""

    records: list[Record] = field(default_factory=list)
    constants: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    options: list[tuple[str, str, str, str]] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Generates or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    wanted = render(read_tables())
    if not arguments.check:
        TARGET.write_text(wanted, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted:
        return 0
    name = TARGET.relative_to(ROOT)
    print(f"{name} is out of date: run tools/generate_format.py", file=sys.stderr)
    return 1


def read_tables() -> Tables:
    """Parses the three files."""
    tables = Tables()
    read_records((FORMAT / "records.def").read_text(encoding="utf-8"), tables)
    header = (FORMAT / "records.h").read_text(encoding="utf-8")
    for name, value in MAGIC.findall(header):
        tables.numbers[f"{name}_MAGIC"] = f"0x{int(value, 16):X}"
    tables.numbers["VERSION"] = VERSION.findall(header)[0]
    tables.options = OPTION.findall(
        (FORMAT / "options.def").read_text(encoding="utf-8")
    )
    return tables


def read_records(text: str, tables: Tables) -> None:
    """Parses records.def line by line."""
    has_text = False
    for line in text.splitlines():
        if TEXT.match(line):
            has_text = True
        elif match := RECORD.match(line):
            name, tag = match.groups()
            tables.records.append(Record(name, int(tag), has_text))
            has_text = False
        elif match := FIELD.match(line):
            kind, name = match.groups()
            tables.records[-1].fields.append((kind, name))
        elif match := CONSTANT.match(line):
            group, name, value = match.groups()
            tables.constants.setdefault(group, []).append((name, int(value)))


def render(tables: Tables) -> str:
    """The text of `_format.py`."""
    parts = [PREAMBLE]
    parts += [f"{name} = {value}" for name, value in tables.numbers.items()]
    parts += [render_constants(*entry) for entry in tables.constants.items()]
    parts += [render_record(record) for record in tables.records]
    parts.append(render_layouts(tables.records))
    parts.append(render_options(tables.options))
    return "\n".join(parts)


PREAMBLE = '''\
"""Layouts of recordings and the runtime's options.

Generated from `native/format` by `tools/generate_format.py`: change those.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple
'''


def render_constants(group: str, values: list[tuple[str, int]]) -> str:
    """One IntEnum for a CONSTANT group."""
    lines = [f"\n\nclass {camel_case(group)}(IntEnum):"]
    lines.append(f'    """Values of `{group.lower()}`."""\n')
    lines += [f"    {name.upper()} = {value}" for name, value in values]
    return "\n".join(lines)


def render_record(record: Record) -> str:
    """One NamedTuple."""
    lines = [f"\n\nclass {record.class_name}(NamedTuple):"]
    lines.append(f'    """Record `{record.name}`."""\n')
    lines += [f"    {name}: int" for _, name in record.fields]
    if record.has_text:
        lines.append("    text: bytes")
    return "\n".join(lines)


def render_layouts(records: list[Record]) -> str:
    """The headers' structs and the table from tag to layout."""
    lines = ["\n"]
    for record in records:
        if record.tag == 0:
            name = f"{record.name.upper()}"
            lines.append(f'{name} = Struct("<{record.layout}")')
    lines.append("\nRecord = (")
    names = [record.class_name for record in records if record.tag != 0]
    lines.append("    " + "\n    | ".join(names) + "\n)\n\n")
    lines.append("class Layout(NamedTuple):")
    lines.append('    """How the record of one tag is stored."""\n')
    lines.append("    record: type[Record]")
    lines.append("    fields: Struct")
    lines.append("    has_text: bool\n\n")
    lines.append("LAYOUTS: dict[int, Layout] = {")
    lines += [
        f"    {record.tag}: Layout(\n        {record.class_name},\n"
        f'        Struct("<{record.layout}"),\n        has_text={record.has_text},\n    ),'
        for record in records
        if record.tag != 0
    ]
    lines.append("}")
    return "\n".join(lines)


def render_options(options: list[tuple[str, str, str, str]]) -> str:
    """The table of options."""
    lines = ["\n\nclass RuntimeOption(NamedTuple):"]
    lines.append('    """One key of LEAKLINE_OPTIONS."""\n')
    lines.append("    kind: type[str | int | bool]")
    lines.append("    default: str | int | bool")
    lines.append("    help: str\n\n")
    lines.append("OPTIONS: dict[str, RuntimeOption] = {")
    for kind, name, default, text in options:
        value = default if kind != "SWITCH" else str(default == "1")
        lines.append(f'    "{name}": RuntimeOption(')
        lines.append(f"        {OPTION_TYPES[kind]},\n        {value},")
        lines.append(f'        "{text}",')
        lines.append("    ),")
    lines.append("}")
    return "\n".join(lines) + "\n"


def camel_case(name: str) -> str:
    """`chunk_header` as `ChunkHeader`."""
    return "".join(part.capitalize() for part in name.lower().split("_"))


if __name__ == "__main__":
    sys.exit(main())
