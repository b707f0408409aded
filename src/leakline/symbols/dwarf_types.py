"""Types in DWARF data: what they refer to, and which member lies at an offset."""

from typing import NamedTuple

from elftools.dwarf.die import DIE

from leakline.symbols.dwarf_entries import (
    DEPTH_LIMIT,
    POINTER_BYTES,
    POINTERS,
    TYPE_WRAPPERS,
    Uncertain,
    name_of,
    size_of,
)

AGGREGATES = frozenset(
    {"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"}
)
MEMBERS = frozenset({"DW_TAG_member", "DW_TAG_inheritance"})


def type_of(die: DIE | None) -> DIE | None:
    """The type of a variable, member, function or pointer, without qualifiers.

    None when there is none, as of functions that return nothing.
    """
    for _ in range(DEPTH_LIMIT):
        if die is None:
            return None
        if "DW_AT_type" in die.attributes:
            return _plain(die.get_DIE_from_attribute("DW_AT_type"))
        origin = {
            "DW_AT_abstract_origin",
            "DW_AT_specification",
        } & die.attributes.keys()
        die = die.get_DIE_from_attribute(min(origin)) if origin else None
    return None


def is_pointer(die: DIE | None) -> bool:
    """Whether a type is a pointer or reference."""
    return die is not None and die.tag in POINTERS


def can_hold_pointer(die: DIE | None) -> bool:
    """Whether a value of a type may be a pointer or contain one."""
    if die is None:
        return False
    if die.tag in AGGREGATES or die.tag == "DW_TAG_array_type" or is_pointer(die):
        return True
    try:
        return size_of(die) >= POINTER_BYTES
    except Uncertain:
        return True


class Member(NamedTuple):
    """A member of a type: how it is written behind a variable's name, and its type."""

    path: str
    type: DIE | None


def member_at(die: DIE | None, offset: int) -> Member | None:
    """The member of a type at an offset; None when the offset lies outside.

    The path is empty for the variable itself.
    """
    path = ""
    for _ in range(DEPTH_LIMIT):
        if die is None:
            return Member(path, None) if 0 <= offset < POINTER_BYTES else None
        if not 0 <= offset < _size(die):
            return None
        if die.tag == "DW_TAG_array_type":
            element = type_of(die)
            size = _size(element) if element is not None else 0
            if size <= 0:
                return Member(path, None)
            path += f"[{offset // size}]"
            offset %= size
            die = element
            continue
        member = _member_at(die, offset) if die.tag in AGGREGATES else None
        if member is None:
            return Member(path, die)
        die, start, name = member
        path += name
        offset -= start
    return None


def _plain(die: DIE) -> DIE | None:
    for _ in range(DEPTH_LIMIT):
        if die.tag not in TYPE_WRAPPERS:
            return _defined(die)
        if "DW_AT_type" not in die.attributes:
            return None
        die = die.get_DIE_from_attribute("DW_AT_type")
    return None


def _defined(die: DIE) -> DIE:
    """The definition of a type that is only declared here, if this unit has it."""
    if "DW_AT_declaration" not in die.attributes:
        return die
    name = name_of(die)
    for other in die.cu.get_top_DIE().iter_children():
        same = other.tag == die.tag and "DW_AT_declaration" not in other.attributes
        if same and name and name_of(other) == name:
            return other
    return die


def _size(die: DIE) -> int:
    try:
        return size_of(die)
    except Uncertain:
        return 1 << 62 if die.tag == "DW_TAG_array_type" else 0


def _member_at(die: DIE, offset: int) -> tuple[DIE | None, int, str] | None:
    """The type, place and name of the last member that begins at or before an offset."""
    best: tuple[DIE | None, int, str] | None = None
    for member in die.iter_children():
        if member.tag not in MEMBERS:
            continue
        attribute = member.attributes.get("DW_AT_data_member_location")
        start = attribute.value if attribute is not None else 0
        if not isinstance(start, int) or start > offset:
            continue
        if best is None or start > best[1]:
            name = name_of(member) if member.tag == "DW_TAG_member" else ""
            best = type_of(member), start, f".{name}" if name else ""
    return best
