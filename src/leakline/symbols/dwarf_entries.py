"""Reads entries of DWARF data: the code they cover, the size and name of things."""

from collections.abc import Iterator

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.die import DIE
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry

VARIABLES = frozenset({"DW_TAG_variable", "DW_TAG_formal_parameter"})
TYPE_WRAPPERS = frozenset(
    {
        "DW_TAG_typedef",
        "DW_TAG_const_type",
        "DW_TAG_volatile_type",
        "DW_TAG_restrict_type",
        "DW_TAG_atomic_type",
    }
)
POINTERS = frozenset(
    {
        "DW_TAG_pointer_type",
        "DW_TAG_reference_type",
        "DW_TAG_rvalue_reference_type",
    }
)
POINTER_BYTES = 8

# Deeper nesting is a ring in damaged data.
DEPTH_LIMIT = 64


class Uncertain(Exception):  # noqa: N818 -- an answer, not an error
    """Something is not understood; the frame stays undecided."""


def covers(die: DIE, address: int) -> bool:
    """Whether the code of an entry contains an address."""
    return any(low <= address < high for low, high in ranges_of(die))


def ranges_of(die: DIE) -> Iterator[tuple[int, int]]:
    """The code of an entry: first address and the one behind the last."""
    attributes = die.attributes
    if "DW_AT_ranges" in attributes:
        yield from _listed_ranges(die)
    elif "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low = attributes["DW_AT_low_pc"].value
        high = attributes["DW_AT_high_pc"]
        is_length = describe_form_class(high.form) == "constant"
        yield low, low + high.value if is_length else high.value


def _listed_ranges(die: DIE) -> Iterator[tuple[int, int]]:
    lists = die.dwarfinfo.range_lists()
    attribute = die.attributes["DW_AT_ranges"]
    if lists is None:
        raise Uncertain
    top = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = top.value if top is not None else 0
    unit = die.cu
    if not isinstance(unit, CompileUnit):
        raise Uncertain
    for entry in lists.get_range_list_at_offset(attribute.value, unit):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        elif isinstance(entry, RangeEntry):
            start = 0 if entry.is_absolute else base
            yield entry.begin_offset + start, entry.end_offset + start


def size_of(die: DIE, depth: int = 0) -> int:
    """Size of a variable or type in bytes."""
    if depth > DEPTH_LIMIT:
        raise Uncertain
    if "DW_AT_byte_size" in die.attributes:
        return int(die.attributes["DW_AT_byte_size"].value)
    if die.tag in POINTERS:
        return POINTER_BYTES
    if die.tag == "DW_TAG_array_type":
        return _array_length(die) * size_of(_referred(die, "DW_AT_type"), depth + 1)
    if die.tag in TYPE_WRAPPERS | VARIABLES:
        if "DW_AT_type" not in die.attributes:
            return size_of(_referred(die, "DW_AT_abstract_origin"), depth + 1)
        return size_of(_referred(die, "DW_AT_type"), depth + 1)
    raise Uncertain


def _array_length(die: DIE) -> int:
    length = 1
    for bound in die.iter_children():
        attributes = bound.attributes
        if "DW_AT_count" in attributes:
            length *= attributes["DW_AT_count"].value
        elif "DW_AT_upper_bound" in attributes:
            length *= attributes["DW_AT_upper_bound"].value + 1
        else:
            raise Uncertain
    if not isinstance(length, int):
        raise Uncertain
    return length


def _referred(die: DIE, name: str) -> DIE:
    if name not in die.attributes:
        raise Uncertain
    return die.get_DIE_from_attribute(name)


def name_of(die: DIE) -> str:
    """The name an entry has itself or by the entry it refers to; may be empty."""
    return _attribute_text(die, ("DW_AT_name",))


def linkage_name_of(die: DIE) -> str:
    """The linkage name of a function, else its plain name; may be empty."""
    linkage = _attribute_text(die, ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"))
    return linkage or name_of(die)


def _attribute_text(die: DIE, names: tuple[str, ...]) -> str:
    for _ in range(DEPTH_LIMIT):
        for name in names:
            if name in die.attributes:
                value = die.attributes[name].value
                return str(value.decode("utf-8", "backslashreplace"))
        origin = {
            "DW_AT_abstract_origin",
            "DW_AT_specification",
        } & die.attributes.keys()
        if not origin:
            return ""
        die = die.get_DIE_from_attribute(min(origin))
    return ""
