"""Reads a facts file into a `Unit`; function bodies stay encoded."""

import json
from pathlib import Path
from typing import Any

from leakline.errors import CheckError
from leakline.static.facts import (
    VERSION,
    Declaration,
    Field,
    Function,
    Global,
    InitialValue,
    Linkage,
    MemberStore,
    Parameter,
    ParameterFlag,
    Release,
    SourceType,
    Unit,
    decode_constant,
)


class FactsError(CheckError):
    """A facts file is not ours, cut short, or of another version."""


def read_facts(path: Path) -> Unit:
    """Read the facts of one unit."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FactsError(f"The facts {path} cannot be read: {error}.") from error
    return parse_facts(content, str(path))


def parse_facts(content: bytes, name: str) -> Unit:
    """Turn the content of a facts file into a unit; `name` is for messages."""
    lines = content.splitlines()
    try:
        first, last = json.loads(lines[0]), json.loads(lines[-1])
        if first.get("format") != "leakline-facts" or first.get("version") != VERSION:
            raise FactsError(f"The facts in {name} are not of version {VERSION}.")
        if last.get("end") != (len(lines) - 2) // 2:
            raise FactsError(f"The facts in {name} are cut short.")
        return _unit(first, lines[1:-1])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise FactsError(f"The facts in {name} are damaged ({error}).") from error


def _unit(raw: dict[str, Any], lines: list[bytes]) -> Unit:
    files: list[str] = raw["files"]
    functions = (
        _function(json.loads(header), body, files)
        for header, body in zip(lines[::2], lines[1::2], strict=True)
    )
    return Unit(
        llvm=raw["llvm"],
        source=raw["source"],
        directory=raw["directory"],
        language=raw["language"],
        target=raw["target"],
        pointer_bytes=raw["pointer_bytes"],
        files=tuple(files),
        types=tuple(_source_type(row) for row in raw["types"]),
        globals={row["name"]: _global(row, files) for row in raw["globals"]},
        declarations={row["name"]: _declaration(row) for row in raw["declarations"]},
        aliases={
            name: (target, Linkage(link)) for name, target, link in raw["aliases"]
        },
        constructors=tuple(raw["constructors"]),
        destructors=tuple(raw["destructors"]),
        functions={function.name: function for function in functions},
    )


def _function(raw: dict[str, Any], body: bytes, files: list[str]) -> Function:
    return Function(
        name=raw["name"],
        display=raw["display"],
        linkage=Linkage(raw["linkage"]),
        file=files[raw["file"]],
        line=raw["line"],
        return_type=raw["return_type"],
        declaration=_declaration(raw),
        calls=tuple(raw["calls"]),
        takes=tuple(raw["takes"]),
        signatures=tuple(raw["signatures"]),
        globals=tuple(raw["globals"]),
        member_stores=_member_stores(raw),
        values=raw["values"],
        instructions=raw["instructions"],
        encoded_body=body,
    )


def _declaration(raw: dict[str, Any]) -> Declaration:
    return Declaration(
        name=raw["name"],
        display=raw["display"],
        signature=raw["signature"],
        variadic=raw["variadic"],
        returns=raw["returns"],
        parameters=tuple(
            Parameter(name, ty, source_type, ParameterFlag(flags))
            for name, ty, source_type, flags in raw["parameters"]
        ),
        attributes=frozenset(raw["attributes"]),
        releases=tuple(Release(*row) for row in raw["releases"]),
    )


def _global(raw: dict[str, Any], files: list[str]) -> Global:
    return Global(
        name=raw["name"],
        display=raw["display"],
        linkage=Linkage(raw["linkage"]),
        defined=raw["defined"],
        constant=raw["constant"],
        only_read=raw["only_read"],
        thread_local=raw["thread_local"],
        bytes=raw["bytes"],
        type=raw["type"],
        file=files[raw["file"]],
        line=raw["line"],
        initialiser=tuple(
            InitialValue(offset, ty, decode_constant(constant))
            for offset, ty, constant in raw["initialiser"]
        ),
        truncated=raw["truncated"],
        member_stores=_member_stores(raw),
    )


def _member_stores(raw: dict[str, Any]) -> tuple[MemberStore, ...]:
    return tuple(MemberStore(*row) for row in raw["member_stores"])


def _source_type(row: list[Any]) -> SourceType:
    match row:
        case ["struct" | "union" as kind, name, size, fields]:
            members = tuple(Field(*field) for field in fields)
            return SourceType(kind, name, size, fields=members)
        case ["pointer", target]:
            return SourceType("pointer", target=target)
        case ["array", element, count]:
            return SourceType("array", target=element, count=count)
        case [kind, name, size]:
            return SourceType(kind, name, size)
        case [kind, name]:
            return SourceType(kind, name)
        case [kind]:
            return SourceType(kind)
        case _:
            raise ValueError(f"unknown type {row}")
