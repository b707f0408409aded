"""Arm plans: whichever sites are armed, every armed one leads to its own stub."""

import random
from functools import cache
from pathlib import Path

import pytest
from iced_x86 import Decoder, FlowControl, Mnemonic, OpKind

from leakline.patching.accesses.module import make_arm_plan
from leakline.patching.accesses.plan import CACHE_LINE, WORD, ArmPlan
from leakline.patching.accesses.plan_file import is_sound, serialise
from leakline.patching.accesses.sites import find_sites
from leakline.patching.module import section_address
from leakline.patching.placement import JUMP_LENGTH, PAGE
from leakline.symbols.elf import read_elf
from leakline.symbols.unwind_tables import RBP, Function, Rule

ZLIB = next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1")).resolve()
LEAST_SHARE = 0.9
ROUNDS = 20


@cache
def plan() -> ArmPlan:
    return make_arm_plan(ZLIB)


@cache
def text() -> tuple[int, bytes]:
    elf = read_elf(ZLIB)
    return section_address(elf, ".text"), elf.section(".text")


def sites_in(code: bytes, rule: Rule | None = None) -> list[str]:
    """Return the bytes, in hexadecimal, of the sites of a piece of code."""
    function = Function(0x1000, 0x1000 + len(code), [0x1000], [rule or Rule(7, 8)])
    return [site.code.hex() for site in find_sites(code, 0x1000, [function]).sites]


def test_most_sites_can_be_armed() -> None:
    assert len(plan().armings) > LEAST_SHARE * plan().sites
    assert len(plan().armings) + sum(plan().left_out.values()) == plan().sites


def stub_numbers() -> dict[int, int]:
    """Return the number of the site whose stub begins at an address."""
    return {
        page + offset: pushed_number(code)
        for page, content in plan().pages.items()
        for offset, code in content.pieces
    }


def pushed_number(code: bytes) -> int:
    pushes = (one for one in Decoder(64, code) if one.mnemonic == Mnemonic.PUSH)
    return next(one.immediate32 for one in pushes if one.op0_kind != OpKind.REGISTER)


def test_every_combination_of_armed_neighbours_leads_to_the_right_stub() -> None:
    base, code = text()
    numbers = stub_numbers()
    randomly = random.Random(5)  # noqa: S311 - to be repeated
    for share in [0.1, 0.5, 0.9, 1.0] * (ROUNDS // 4):
        armed = [n for n in range(len(plan().armings)) if randomly.random() <= share]
        patched = bytearray(code)
        for number in armed:
            arming = plan().armings[number]
            start = arming.address - base
            patched[start : start + len(arming.armed)] = arming.armed
        for number in armed:
            arming = plan().armings[number]
            start = arming.address - base
            jump = Decoder(64, bytes(patched[start : start + 8]), ip=arming.address)
            instruction = jump.decode()
            assert instruction.flow_control == FlowControl.UNCONDITIONAL_BRANCH
            target = instruction.near_branch_target
            # Addresses below the module are negative.
            signed = target - (1 << 64) if target >> 63 else target
            assert numbers[signed] == number


def test_what_changes_lies_in_one_cache_line() -> None:
    for arming in plan().armings:
        first, last = arming.word_at, arming.word_at + WORD - 1
        assert first // CACHE_LINE == last // CACHE_LINE
        assert arming.word_at <= arming.address
        assert arming.address + len(arming.armed) <= arming.word_at + WORD
        assert 1 <= len(arming.armed) <= JUMP_LENGTH


def test_stubs_do_not_overlap_and_stay_in_their_page() -> None:
    for content in plan().pages.values():
        ends = 0
        for offset, code in sorted(content.pieces):
            assert offset >= ends
            ends = offset + len(code)
        assert ends <= PAGE


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
