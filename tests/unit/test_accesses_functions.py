"""Units: code that is armed together when one of its parts is entered."""

from leakline.patching.accesses.functions import Unit, UnitFinder
from leakline.patching.accesses.sites import find_sites
from leakline.symbols.unwind_tables import RSP, Function, Rule

BASE = 0x1000
AT_ENTRY = Rule(RSP, 8)
IN_FRAME = Rule(RSP, 32)
SIXTEEN_NOPS = "90" * 15 + "c3"


def function(start: int, end: int, rule: Rule = AT_ENTRY) -> Function:
    return Function(BASE + start, BASE + end, [BASE + start], [rule])


def units(code: str, *functions: Function) -> list[Unit]:
    content = bytes.fromhex(code)
    return UnitFinder(content, BASE, find_sites(content, BASE, functions)).units()


def starts(unit: Unit) -> list[int]:
    return [part.start - BASE for part in unit.parts]


def test_a_function_is_noticed_when_it_is_entered() -> None:
    (unit,) = units(SIXTEEN_NOPS, function(0, 16))
    assert not unit.is_eager
    assert unit.parts[0].entry == BASE


def test_a_call_or_a_jump_to_the_start_of_a_function_is_an_entry() -> None:
    jump = "eb0e" + "90" * 14
    both = units(jump + SIXTEEN_NOPS, function(0, 16), function(16, 32))
    assert [starts(unit) for unit in both] == [[0], [16]]
    assert not any(unit.is_eager for unit in both)


def test_what_is_jumped_into_wakes_with_who_jumps() -> None:
    jump = "eb13" + "90" * 14  # to 5 behind the start of the next one
    (unit,) = units(jump + SIXTEEN_NOPS, function(0, 16), function(16, 32))
    assert starts(unit) == [0, 16]
    assert [part.entry for part in unit.parts] == [BASE, BASE + 16]


def test_a_part_with_a_frame_needs_no_entry_beside_its_function() -> None:
    jump = "eb13" + "90" * 14
    (unit,) = units(jump + SIXTEEN_NOPS, function(0, 16), function(16, 32, IN_FRAME))
    assert not unit.is_eager
    assert [part.entry for part in unit.parts] == [BASE, None]


def test_a_part_that_nobody_is_seen_to_jump_to_is_eager() -> None:
    first, second = units(SIXTEEN_NOPS * 2, function(0, 16), function(16, 32, IN_FRAME))
    assert first.is_eager
    assert starts(first) == [16]
    assert not second.is_eager


def test_an_entry_lies_where_others_jump_into_a_function() -> None:
    jump = "eb11" + "90" * 14  # to 3 behind the start of the next one
    target = "4889f8" + "90" * 12 + "c3"  # mov rax, rdi; ...
    (unit,) = units(jump + target, function(0, 16), function(16, 32))
    assert [part.entry for part in unit.parts] == [BASE, BASE + 19]


def test_a_function_that_is_jumped_into_behind_a_site_is_eager() -> None:
    jump = "eb11" + "90" * 14
    target = "488b07" + "90" * 12 + "c3"  # mov rax, [rdi]; ...
    (unit,) = units(jump + target, function(0, 16), function(16, 32))
    assert unit.is_eager


def test_a_function_shorter_than_a_jump_is_eager() -> None:
    (unit,) = units("8b07c3" + "90" * 13, function(0, 3))
    assert unit.is_eager
    assert unit.parts[0].entry is None


def test_an_entry_lies_in_one_cache_line() -> None:
    code = "90" * 60 + SIXTEEN_NOPS
    (crossing,) = units(code, function(60, 76))
    assert crossing.parts[0].entry == BASE + 64
    (whole,) = units(code, function(59, 76))
    assert whole.parts[0].entry == BASE + 59
