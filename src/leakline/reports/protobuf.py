"""Writes the wire format of Protocol Buffers: as much of it as our formats use.

A message is the bytes of its fields, one after the other; 0 and empty are left out, as
readers take them for a field that is not there.
"""

from collections.abc import Iterable

_VARINT = 0
_LENGTH_DELIMITED = 2


def number(field: int, value: int) -> bytes:
    """A field of a type that is written as a varint; the value is not negative."""
    return _tag(field, _VARINT) + varint(value) if value else b""


def message(field: int, content: bytes) -> bytes:
    """A field that holds another message; written even when it is empty."""
    return _tag(field, _LENGTH_DELIMITED) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A string of a repeated field, where the empty string counts as well."""
    return message(field, value.encode())


def packed(field: int, values: Iterable[int]) -> bytes:
    """A repeated field of numbers."""
    content = b"".join(map(varint, values))
    return message(field, content) if content else b""


def varint(value: int) -> bytes:
    """The number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value > 0x7F:  # noqa: PLR2004 (the largest number of seven bits)
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)
