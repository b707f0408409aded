"""Arm plans: whichever sites are armed, every armed one leads to its own stub."""

import random
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from iced_x86 import (
    Code,
    Decoder,
    FlowControl,
    Instruction,
    Mnemonic,
    Register,
)

from leakline.patching.accesses.functions import CACHE_LINE
from leakline.patching.accesses.groups import Gatherer
from leakline.patching.accesses.module import make_arm_plan
from leakline.patching.accesses.plan import Arming, ArmPlan
from leakline.patching.accesses.plan_file import is_sound, serialise
from leakline.patching.accesses.sites import Taken, find_sites
from leakline.patching.accesses.stubs import ENTRY_STUB_BYTES
from leakline.patching.module import make_plan
from leakline.patching.placement import JUMP_LENGTH, PAGE, SHORT_JUMP
from leakline.patching.source import read_source
from leakline.symbols.unwind_tables import RBP, Function, Rule

ZLIB = next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1")).resolve()
LEAST_SHARE = 0.95
LEAST_SHARE_BESIDE = 0.7
ROUNDS = 8
MANY = 100


@cache
def plan() -> ArmPlan:
    return make_arm_plan(ZLIB)


@cache
def text() -> tuple[int, bytes]:
    code = read_source(ZLIB).section(".text")
    return code.base, code.content


def sites_in(code: bytes, rule: Rule | None = None) -> list[str]:
    """Return the bytes, in hexadecimal, of the sites of a piece of code."""
    function = Function(0x1000, 0x1000 + len(code), [0x1000], [rule or Rule(7, 8)])
    return [site.code.hex() for site in find_sites(code, 0x1000, [function]).sites]


def test_most_sites_can_be_armed() -> None:
    armable = sum(len(arming.sites) for arming in plan().armings)
    assert armable > LEAST_SHARE * plan().sites
    assert armable + sum(plan().left_out.values()) == plan().sites


def armings() -> Iterator[tuple[int, Arming]]:
    """Yield the armings, each with the number of its first site."""
    number = 0
    for arming in plan().armings:
        yield number, arming
        number += len(arming.sites)


def stubs() -> dict[int, bytes]:
    """Return the stubs by address."""
    return {
        page + offset: code
        for page, content in plan().pages.items()
        for offset, code in content.pieces
    }


def pushed_numbers(code: bytes) -> list[int]:
    """Return the numbers of the sites that a stub notes."""
    pushes = (one for one in Decoder(64, code) if one.code == Code.PUSHQ_IMM32)
    return [one.immediate32 for one in pushes]


def test_every_combination_of_armed_neighbours_leads_to_the_right_stub() -> None:
    base, code = text()
    numbers = {place: pushed_numbers(stub)[0] for place, stub in stubs().items()}
    randomly = random.Random(5)  # noqa: S311 - to be repeated
    for share in [0.1, 0.5, 0.9, 1.0] * (ROUNDS // 4):
        armed = [one for one in armings() if randomly.random() <= share]
        units = [one for one in plan().entries.units if randomly.random() <= share]
        awake = {part.start for unit in units for part in unit.parts}
        patched = bytearray(code)
        for address, jump in plan().entries.jumps().items():
            if start_of(address) not in awake:
                patched[address - base : address - base + JUMP_LENGTH] = jump
        armed = [(n, one) for n, one in armed if start_of(one.address) in awake]
        for _, arming in armed:
            start = arming.address - base
            patched[start : start + arming.armed_length] = arming.armed
        for number, arming in armed:
            start = arming.address - base
            assert numbers[
                target_of(bytes(patched[start : start + 8]), arming.address)
            ] == (number)


@cache
def starts() -> list[int]:
    return sorted(part.start for part in plan().entries.parts)


def start_of(address: int) -> int:
    """Return the start of the part that an address lies in."""
    return starts()[bisect_right(starts(), address) - 1]


def target_of(jump: bytes, address: int) -> int:
    """Return where a jump leads; addresses below the module are negative."""
    instruction = Decoder(64, jump, ip=address).decode()
    assert instruction.flow_control == FlowControl.UNCONDITIONAL_BRANCH
    target = instruction.near_branch_target
    return target - (1 << 64) if target >> 63 else target


def without_notes(code: bytes, place: int) -> list[Instruction]:
    """Return the instructions of a stub that are the program's."""
    kept: list[Instruction] = []
    skipping = False
    for one in Decoder(64, code, ip=place):
        if one.code == Code.LEA_R64_M and one.op0_register == Register.RSP:
            skipping = True
        elif skipping:
            skipping = one.mnemonic != Mnemonic.CALL
        elif one.mnemonic != Mnemonic.JRCXZ:
            kept.append(one)
    return kept


def test_a_stub_runs_what_its_jump_replaces_and_goes_on_behind_it() -> None:
    base, code = text()
    all_stubs = stubs()
    compared = 0
    for number, arming in armings():
        place = arming.address + JUMP_LENGTH + arming.distance
        stub = all_stubs[place]
        noted = dict.fromkeys(pushed_numbers(stub))
        assert list(noted) == list(range(number, number + len(arming.sites)))
        original = code[arming.address - base : arming.end - base]
        wanted = list(Decoder(64, original, ip=arming.address))
        if wanted[-1].flow_control != FlowControl.NEXT:
            continue
        *moved, back = without_notes(stub, place & (1 << 64) - 1)
        assert [str(one) for one in moved] == [str(one) for one in wanted]
        assert back.near_branch_target == arming.end
        compared += len(arming.sites) > 1
    assert compared > MANY


def test_neighbours_are_armed_together_unless_somebody_jumps_between_them() -> None:
    load = "488b07"  # mov rax, [rdi]
    store = "488906"  # mov [rsi], rax
    assert sites_of_groups(load + store + "c3") == [[0x1000, 0x1003]]
    back_to_store = "ebfb"
    assert sites_of_groups(load + store + back_to_store) == [[0x1000], [0x1003]]
    computed_jump = "ffe0"
    assert sites_of_groups(load + store + computed_jump) == [[0x1000], [0x1003]]


def sites_of_groups(code: str) -> list[list[int]]:
    content = bytes.fromhex(code)
    end = 0x1000 + len(content)
    function = Function(0x1000, end, [0x1000], [Rule(7, 8)])
    census = find_sites(content, 0x1000, [function])
    untaken = Taken(0x1000, bytes(len(content)))
    groups = Gatherer(content, 0x1000, census, untaken).groups()
    return [list(group.sites) for group in groups]


def test_a_long_instruction_before_a_short_site_becomes_the_jump() -> None:
    content = bytes.fromhex("b801000000 488b07 c3")  # mov eax, 1; mov rax, [rdi]; ret
    function = Function(0x1000, 0x1009, [0x1000], [Rule(7, 8)])
    census = find_sites(content, 0x1000, [function])
    untaken = Taken(0x1000, bytes(len(content)))
    (group,) = Gatherer(content, 0x1000, census, untaken).groups()
    assert group.address == 0x1000
    assert group.sites == (0x1005,)


def test_what_changes_lies_in_one_cache_line() -> None:
    for _, arming in armings():
        last = arming.address + arming.armed_length - 1
        assert arming.address // CACHE_LINE == last // CACHE_LINE
        assert 1 <= arming.armed_length <= JUMP_LENGTH


def test_beside_lens_loss_no_group_has_code_that_is_patched() -> None:
    patched = make_plan(ZLIB)
    jumps = [patch.jump for patch in patched.patches]
    taken = {
        address for start, end in patched.moved + jumps for address in range(start, end)
    }
    assert any(patch.replacement[0] == SHORT_JUMP for patch in patched.patches)
    beside = make_arm_plan(ZLIB, beside=patched)
    for arming in beside.armings:
        assert taken.isdisjoint(range(arming.address, arming.end))
        there = patched.bytes_at(arming.address, JUMP_LENGTH)
        assert arming.original == there
    armable = sum(len(arming.sites) for arming in beside.armings)
    assert armable + sum(beside.left_out.values()) == beside.sites == plan().sites
    assert armable > LEAST_SHARE_BESIDE * beside.sites


def test_stubs_do_not_overlap_and_stay_in_their_page() -> None:
    for content in plan().pages.values():
        ends = 0
        for offset, code in sorted(content.pieces):
            assert offset >= ends
            ends = offset + len(code)
        assert ends <= PAGE


def test_in_the_text_of_a_plan_entries_are_jumps_and_nothing_else_differs() -> None:
    changed = plan().text
    assert changed is not None
    code = read_source(ZLIB).code_pages()
    start = changed.address - code.base
    assert changed.original == code.content[start : start + len(changed.original)]
    assert changed.address % PAGE == len(changed.changed) % PAGE == 0
    restored = bytearray(changed.changed)
    for address, jump in plan().entries.jumps().items():
        at = address - changed.address
        assert restored[at : at + JUMP_LENGTH] == jump
        restored[at : at + JUMP_LENGTH] = changed.original[at : at + JUMP_LENGTH]
    assert restored == changed.original


def test_an_entry_leads_to_its_own_stub_which_leads_back() -> None:
    entries = plan().entries
    content = entries.stubs()
    jumps = entries.jumps()
    for number, part in enumerate(entries.parts):
        at = number * ENTRY_STUB_BYTES
        stub = content[at : at + ENTRY_STUB_BYTES]
        assert pushed_numbers(stub) == [number]
        *_, call, back = Decoder(64, stub, ip=entries.stubs_at + at & (1 << 64) - 1)
        assert call.mnemonic == Mnemonic.CALL
        assert back.near_branch_target == part.entry or part.start
        if part.entry is not None:
            assert target_of(jumps[part.entry], part.entry) == entries.stubs_at + at


def test_nearly_all_code_sleeps_until_it_is_entered() -> None:
    asleep = {
        part.start
        for unit in plan().entries.units
        for part in unit.parts
        if not unit.is_eager
    }
    sites = sum(len(a.sites) for _, a in armings() if start_of(a.address) in asleep)
    assert sites > LEAST_SHARE * plan().sites


def test_a_plan_file_is_checked(tmp_path: Path) -> None:
    content = serialise(plan())
    file = tmp_path / "plan.arm"
    file.write_bytes(content)
    assert is_sound(file, plan().build_id)
    assert not is_sound(file, b"another build-id")
    for place in (0, PAGE + 5, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        file.write_bytes(damaged)
        assert not is_sound(file, plan().build_id)
    file.write_bytes(content[:-1])
    assert not is_sound(file, plan().build_id)


@pytest.mark.parametrize(
    "code",
    [
        "488b4424 08",  # mov rax, [rsp + 8]
        "488b0500000000",  # mov rax, [rip]
        "64488b042528000000",  # mov rax, fs:[0x28]
        "488d4308",  # lea rax, [rbx + 8]
        "0f1f4000",  # nop [rax]
        "0f184308",  # prefetchnta [rbx + 8]
    ],
)
def test_what_cannot_touch_the_heap_is_no_site(code: str) -> None:
    assert not sites_in(bytes.fromhex(code))


def test_a_frame_pointer_leads_to_the_stack() -> None:
    load = bytes.fromhex("488b45f8")  # mov rax, [rbp - 8]
    assert not sites_in(load, Rule(RBP, 16))
    assert sites_in(load) == ["488b45f8"]


def test_string_instructions_touch_both_ends() -> None:
    function = Function(0x1000, 0x1002, [0x1000], [Rule(7, 8)])
    (site,) = find_sites(bytes.fromhex("f3a4"), 0x1000, [function]).sites
    assert len(site.operands) == 2
    assert site.repeats


def test_a_signal_frame_is_not_decoded() -> None:
    code = bytes.fromhex("0048c7c00f000000")  # its range begins a byte early
    function = Function(0x1000, 0x1000 + len(code), [0x1000], [None])
    assert not find_sites(code, 0x1000, [function]).sites
