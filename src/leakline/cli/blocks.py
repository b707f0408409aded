"""Writes what lens pages knew of every block and page, for other tools.

The recording must have been made with `leakline run --lens pages --raw-blocks -o FILE`.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import quoteattr

from leakline.cli.arguments import count
from leakline.dynamic.raw_blocks import Raw, RawBlock, RawPage, RawSite, read_raw
from leakline.errors import UsageError
from leakline.reports.printable import printable


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline blocks`."""
    parser.add_argument("recording", metavar="FILE", type=Path, help="the recording")
    parser.add_argument(
        "--format",
        choices=WRITERS,
        default="jsonl",
        help="JSON lines or XML (default: jsonl)",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write")
    parser.add_argument(
        "--pid", type=count, help="of this process; without it of the first"
    )


def run(arguments: Namespace) -> int:
    """Writes all of them; returns 0."""
    rows = read_raw(arguments.recording, arguments.pid)
    write = WRITERS[arguments.format]
    if arguments.output is None:
        write(rows, sys.stdout)
        return 0
    try:
        with arguments.output.open("w", encoding="utf-8") as file:
            write(rows, file)
    except OSError as error:
        raise UsageError(
            f"{arguments.output} cannot be written: {error.strerror}"
        ) from None
    return 0


def _write_json_lines(rows: Iterator[Raw], file: TextIO) -> None:
    for row in rows:
        match row:
            case RawSite():
                content = {"site": row.number, "frames": _frames(row)}
            case RawPage():
                content = {"page": row.address, **_without_address(row)}
            case RawBlock():
                content = {"block": row.address, **_without_address(row)}
        file.write(json.dumps(content) + "\n")


def _without_address(row: RawPage | RawBlock) -> dict[str, object]:
    values = asdict(row)
    del values["address"]
    return values


def _frames(site: RawSite) -> list[dict[str, object]]:
    return [
        {
            "function": frame.function,
            "file": frame.file,
            "line": frame.line,
            "module": frame.module,
        }
        for frame in site.stack.frames
    ]


def _write_xml(rows: Iterator[Raw], file: TextIO) -> None:
    file.write('<?xml version="1.0" encoding="utf-8"?>\n<heap>\n')
    for row in rows:
        match row:
            case RawSite():
                file.write(f'<site number="{row.number}">\n')
                file.writelines(
                    f"  {_element('frame', frame)}\n" for frame in _frames(row)
                )
                file.write("</site>\n")
            case RawPage():
                file.write(_element("page", asdict(row)) + "\n")
            case RawBlock():
                file.write(_element("block", asdict(row)) + "\n")
    file.write("</heap>\n")


def _element(name: str, values: dict[str, object]) -> str:
    attributes = (
        f" {key}={quoteattr(_text(value))}"
        for key, value in values.items()
        if value is not None
    )
    return f"<{name}{''.join(attributes)}/>"


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else printable(str(value))


WRITERS: dict[str, Callable[[Iterator[Raw], TextIO], None]] = {
    "jsonl": _write_json_lines,
    "xml": _write_xml,
}
