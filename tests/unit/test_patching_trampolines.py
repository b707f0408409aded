"""Runs trampolines: they must do what the store does, and call for what it overwrites.

A small machine-code frame loads all registers and flags, runs the code under test, and
stores all registers and flags again, so that nothing a trampoline changes stays unseen.
In place of the runtime's hooks stands one that notes what it was called with and spoils
what a hook may.
"""

import ctypes
import mmap
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from struct import pack, unpack

import pytest
from iced_x86 import (
    Code,
    Code_,
    Encoder,
    Instruction,
    MemoryOperand,
    Register,
    Register_,
)

from leakline.patching.addresses import (
    HEAP_TAG,
    HOOK_TABLE,
    LOSS_CLOCK,
    MINUS_HEAP_START,
    SHADOW_START,
    STAMP_LIMIT,
)
from leakline.patching.assembler import Step
from leakline.patching.eviction import Plain
from leakline.patching.groups import Gatherer
from leakline.patching.stores import Store, find_stores
from leakline.patching.trampolines import (
    Trampoline,
    parted_trampoline,
    trampoline,
)
from leakline.symbols.unwind_tables import RSP, Function, Rule

GENERAL = [
    Register.RAX,
    Register.RCX,
    Register.RDX,
    Register.RBX,
    Register.RBP,
    Register.RSI,
    Register.RDI,
    Register.R8,
    Register.R9,
    Register.R10,
    Register.R11,
    Register.R12,
    Register.R13,
    Register.R14,
    Register.R15,
]
ARITHMETIC_FLAGS = 0x8D5
AREA = 0x30_0000_0000_00
AREA_BYTES = 1 << 20
FRAME, CODE, TRAMPOLINES, STATE, DATA, HOOK, LOST, STAMPS = (
    AREA + n * 0x10000 for n in range(8)
)
HEAP = HEAP_TAG << 40
NOTES = STATE + 0x1000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
FIXED_NOREPLACE = 0x100000


def map_at(address: int, size: int, *, executable: bool) -> None:
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    protection |= mmap.PROT_EXEC if executable else 0
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED_NOREPLACE
    assert _libc.mmap(address, size, protection, flags, -1, 0) == address


@pytest.fixture
def memory(area: None) -> None:  # noqa: ARG001 - mapped once for all tests
    set_limit(0)


@pytest.fixture(scope="module")
def area() -> Iterator[None]:
    map_at(AREA, AREA_BYTES, executable=True)
    map_at(HOOK_TABLE, 8192, executable=False)
    poke(HOOK_TABLE, pack("<Q", HOOK) * 22)
    poke(MINUS_HEAP_START, pack("<q", -HEAP))
    poke(SHADOW_START, pack("<Q", STAMPS))
    write_hook()
    yield
    _libc.munmap(AREA, AREA_BYTES)
    _libc.munmap(HOOK_TABLE, 8192)


def write_hook() -> None:
    """Write a hook that notes slot, caller, mask, place and that it was called."""
    hook = Assembler(HOOK)
    for number, register in enumerate([Register.RAX, Register.RCX]):
        slot = hook.slot((NOTES - STATE) // 8 + number)
        hook.add(Instruction.create_mem_reg(Code.MOV_RM64_R64, slot, register))
    slot = hook.slot((NOTES - STATE) // 8 + 4)
    hook.add(Instruction.create_mem_reg(Code.MOV_RM64_R64, slot, Register.RDX))
    hook.code += b"\x48\x8b\x04\x24"  # mov rax, [rsp]
    slot = hook.slot((NOTES - STATE) // 8 + 2)
    hook.add(Instruction.create_mem_reg(Code.MOV_RM64_R64, slot, Register.RAX))
    slot = hook.slot((NOTES - STATE) // 8 + 3)
    hook.add(Instruction.create_mem(Code.INC_RM64, slot))
    hook.code += b"\x48\x31\xc0\x48\xff\xc8\x48\x89\xc1\xc3"  # spoils rax, rcx, flags
    poke(HOOK, hook.code)


def notes() -> tuple[int, int, int, int]:
    """Return slot, caller, place of the last call, and the number of calls."""
    slot, caller, place, calls = unpack("<4Q", peek(NOTES, 32))
    return slot, caller, place, calls


def put(*steps: Step) -> Trampoline:
    """Put a trampoline in place, its part for losses far from it."""
    made = parted_trampoline(steps, TRAMPOLINES, LOST)
    poke(TRAMPOLINES, made.code)
    poke(LOST, made.lost)
    return made


def put_in_one_piece(*steps: Step) -> Trampoline:
    made = trampoline(steps, TRAMPOLINES)
    poke(TRAMPOLINES, made.code)
    return made


def poke(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


def set_limit(limit: int) -> None:
    """Let trampolines stamp by themselves so far into the heap."""
    poke(STAMP_LIMIT, pack("<Q", limit))


def peek(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)


class Assembler:
    def __init__(self, address: int) -> None:
        self.address = address
        self.code = b""

    def add(self, instruction: Instruction) -> None:
        encoder = Encoder(64)
        encoder.encode(instruction, self.address + len(self.code))
        self.code += encoder.take_buffer()

    def slot(self, number: int) -> MemoryOperand:
        return MemoryOperand(Register.RIP, displ=STATE + 8 * number, displ_size=8)


def write_frame(target: int) -> None:
    """Write the frame: it calls `target`, which returns behind the call."""
    frame = Assembler(FRAME)
    saved = [Register.RBX, Register.RBP, *GENERAL[-4:]]
    for register in saved:
        frame.add(Instruction.create_reg(Code.PUSH_R64, register))
    frame.add(Instruction.create_mem(Code.PUSH_RM64, frame.slot(15)))
    frame.code += b"\x9d"  # popfq
    for number, register in enumerate(GENERAL):
        frame.add(
            Instruction.create_reg_mem(Code.MOV_R64_RM64, register, frame.slot(number))
        )
    frame.add(Instruction.create_branch(Code.CALL_REL32_64, target))
    for number, register in enumerate(GENERAL):
        frame.add(
            Instruction.create_mem_reg(
                Code.MOV_RM64_R64, frame.slot(20 + number), register
            )
        )
    frame.code += b"\x9c"  # pushfq
    frame.add(Instruction.create_mem(Code.POP_RM64, frame.slot(35)))
    for register in reversed(saved):
        frame.add(Instruction.create_reg(Code.POP_R64, register))
    poke(FRAME, frame.code + b"\xc3")


def run(target: int, registers: list[int], flags: int) -> tuple[list[int], int]:
    """Run code at an address; return the registers and arithmetic flags after it."""
    write_frame(target)
    poke(STATE, pack("<16Q", *registers, flags | 0x202))
    ctypes.CFUNCTYPE(None)(FRAME)()
    *after, flags_after = unpack("<16Q", peek(STATE + 160, 128))
    return after, flags_after & ARITHMETIC_FLAGS


def store_of(code: bytes, *, births: bool = False) -> Store:
    """Return the store at the start of some code, to be stamped without a hook."""
    function = Function(CODE, CODE + len(code), [CODE], [Rule(RSP, 8)])
    census = find_stores(code, CODE, [function], births=births)
    assert len(census.stores) == 1
    return replace(census.stores[0], stamps_itself=True)


def base_stores() -> list[bytes]:
    """Return stores with every base register, of many forms, each before a `ret`."""
    made = []
    for base in GENERAL:
        for displacement in (0, 8, 0x1000):
            memory = MemoryOperand(base, displ=displacement, displ_size=8)
            other = GENERAL[GENERAL.index(base) - 1]
            made += [
                Instruction.create_mem_reg(Code.MOV_RM64_R64, memory, other),
                Instruction.create_mem_i32(Code.MOV_RM64_IMM32, memory, 5),
                Instruction.create_mem_reg(Code.ADD_RM64_R64, memory, other),
                Instruction.create_mem_reg(Code.XCHG_RM64_R64, memory, other),
                Instruction.create_mem_reg(
                    Code.MOVUPS_XMMM128_XMM, memory, Register.XMM3
                ),
            ]
    here = MemoryOperand(Register.RIP, displ=DATA + 8, displ_size=8)
    made.append(Instruction.create_mem_reg(Code.MOV_RM64_R64, here, Register.RDI))
    codes = []
    for instruction in made:
        assembler = Assembler(CODE)
        assembler.add(instruction)
        codes.append(assembler.code)
    return codes


HALF = 0.5

# What follows decides whether the flags before the store are alive.
DEAD = b"\xc3"
ALIVE = b"\x0f\x42\xc0\xc3"  # cmovb eax, eax; ret


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.parametrize("pointer", [0, HEAP + 0x120, (0xFF << 56) | (HEAP + 0x40)])
@pytest.mark.parametrize("births", [False, True], ids=["losses", "births"])
@pytest.mark.parametrize("limit", [0, 0x1000], ids=["by-hooks", "by-itself"])
@pytest.mark.usefixtures("memory")
def test_a_trampoline_does_what_the_store_does(
    following: bytes, pointer: int, limit: int, *, births: bool
) -> None:
    source = random.Random(7)  # noqa: S311 - reproducible, not secret
    set_limit(limit)
    for code in base_stores():
        found = store_of(code + following, births=births)
        store = replace(found, stamps_itself=limit > 0 or source.random() < HALF)
        source.choice([put, put_in_one_piece])(store)
        registers = [DATA + 0x2000 + 16 * source.randrange(64) for _ in GENERAL]
        flags = source.getrandbits(12) & ARITHMETIC_FLAGS
        content = pack("<Q", pointer) * (0x4000 // 8)

        poke(DATA, content)
        poke(CODE, code + following)
        plain = run(CODE, registers, flags), peek(DATA, len(content))

        poke(DATA, content)
        jump = b"\xe9" + pack("<i", TRAMPOLINES - (CODE + 5))
        poke(CODE, (jump + b"\x90" * 16)[: len(code)] if len(code) >= 5 else b"")
        entry = CODE if len(code) >= 5 else TRAMPOLINES
        patched = run(entry, registers, flags), peek(DATA, len(content))
        assert patched[0][0] == plain[0][0], code.hex()
        assert patched[1] == plain[1], code.hex()
        if not (store.flags_dead and store.keeps_flags):
            assert patched[0][1] == plain[0][1], code.hex()


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.usefixtures("memory")
def test_a_hook_learns_slot_caller_and_place(following: bytes) -> None:
    code = b"\x48\x89\x43\x08" + following  # mov [rbx + 8], rax
    made = put(store_of(code))
    poke(CODE, code)
    poke(NOTES, bytes(32))
    poke(DATA, pack("<QQ", 0, HEAP + 0x245))
    run(TRAMPOLINES, [DATA] * len(GENERAL), 0)
    slot, caller, place, calls = notes()
    assert (slot, calls) == (DATA + 8, 1)
    assert FRAME < caller < FRAME + 0x1000
    assert made.places == ((place, CODE),)


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.usefixtures("memory")
def test_hooks_are_called_for_heap_pointers_only(following: bytes) -> None:
    store = store_of(b"\x48\x89\x03" + following)
    put(store)
    poke(CODE, b"\x48\x89\x03" + following)
    poke(NOTES, bytes(32))
    for value in (HEAP - 16, HEAP + (1 << 40), HEAP >> 8, HEAP << 8, 0):
        poke(DATA, pack("<Q", value & (1 << 64) - 1))
        run(TRAMPOLINES, [DATA] * len(GENERAL), 0)
    assert notes()[3] == 0


@pytest.mark.parametrize("births", [False, True], ids=["losses", "births"])
@pytest.mark.usefixtures("memory")
def test_the_same_pointer_again_loses_nothing(*, births: bool) -> None:
    code = b"\x48\x89\x03" + DEAD  # mov [rbx], rax
    made = put(store_of(code, births=births))
    lost, _ = made.places[0]
    poke(CODE, code)
    for stored, is_lost in ((HEAP + 0x30, False), (HEAP + 0x31, True)):
        poke(NOTES, bytes(32))
        poke(DATA, pack("<Q", HEAP + 0x30))
        run(TRAMPOLINES, [stored, *[DATA] * 14], 0)
        *_, place, calls = notes()
        assert calls == births + is_lost
        assert births or place == (lost if is_lost else 0)
        assert unpack("<Q", peek(DATA, 8)) == (stored,)


def stamp_at(offset: int) -> tuple[int, int, int]:
    """Return clock, caller and place of the stamp of a granule of the heap."""
    value = int.from_bytes(peek(STAMPS + offset // 2, 16), "little")
    return value % (1 << 48), value >> 48 & (1 << 48) - 1, value >> 96


@pytest.mark.usefixtures("memory")
def test_one_word_is_stamped_without_a_hook() -> None:
    set_limit(0x1000)
    for code in one_word_stores():
        made = put(store_of(code + DEAD))
        poke(CODE, code + DEAD)
        poke(NOTES, bytes(32))
        poke(DATA, pack("<Q", HEAP + 0x245) * 0x400)
        poke(STAMPS + 0x120, bytes(16))
        before = unpack("<Q", peek(LOSS_CLOCK, 8))[0]
        run(TRAMPOLINES, [DATA + 0x800] * len(GENERAL), 0)
        clock, caller, place = stamp_at(0x240)
        assert (clock, notes()[3]) == (before + 1, 0), code.hex()
        assert FRAME < caller < FRAME + 0x1000
        assert (place, CODE) == (made.places[0][0] % (1 << 32), made.places[0][1])


def one_word_stores() -> list[bytes]:
    """Return plain stores with every base register."""
    return [code for code in base_stores() if store_of(code + DEAD).words == 1]


@pytest.mark.parametrize("limit", [0, 0x240], ids=["with-threads", "heap-grew"])
@pytest.mark.usefixtures("memory")
def test_what_lies_beyond_the_limit_is_for_the_hook(limit: int) -> None:
    code = b"\x48\x89\x03" + DEAD  # mov [rbx], rax
    made = put(store_of(code))
    set_limit(limit)
    poke(CODE, code)
    poke(NOTES, bytes(32))
    poke(STAMPS + 0x120, bytes(16))
    poke(DATA, pack("<Q", HEAP + 0x240))
    run(TRAMPOLINES, [DATA] * len(GENERAL), 0)
    assert notes() == (DATA, notes()[1], made.places[0][0], 1)
    assert stamp_at(0x240) == (0, 0, 0)


@pytest.mark.usefixtures("memory")
def test_slots_close_above_the_stack_pointer_are_for_the_hook() -> None:
    """The slot lies in the red zone."""
    code = bytes.fromhex("4889e3 488943c0 c3")  # mov rbx, rsp; mov [rbx - 64], rax
    function = Function(CODE, CODE + len(code), [CODE], [Rule(RSP, 8)])
    (found,) = find_stores(code, CODE, [function]).stores
    store = replace(found, stamps_itself=True)
    fill = Plain(CODE, bytes.fromhex("4c8944 24c0"))  # mov [rsp - 64], r8
    set_limit(0x1000)
    put(fill, Plain(CODE, code[:3]), store)
    poke(CODE, code)
    poke(NOTES, bytes(32))
    r8 = GENERAL.index(Register.R8)
    registers = [DATA] * len(GENERAL)
    registers[r8] = HEAP + 0x240
    run(TRAMPOLINES, registers, 0)
    assert notes()[3] == 1


@pytest.mark.usefixtures("memory")
def test_every_word_of_a_vector_is_looked_at() -> None:
    code = b"\xc5\xfe\x7f\x03\xc3"  # vmovdqu [rbx], ymm0
    put(store_of(code))
    poke(CODE, code)
    for word in range(4):
        poke(NOTES, bytes(32))
        words = [0, 0, 0, 0]
        words[word] = HEAP + 64
        poke(DATA, pack("<4Q", *words))
        run(TRAMPOLINES, [DATA] * len(GENERAL), 0)
        slot, *_, calls = notes()
        assert slot == DATA
        assert calls >= 1


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.usefixtures("memory")
def test_what_was_stored_is_looked_at_for_births(following: bytes) -> None:
    code = b"\x48\x89\x03" + following  # mov [rbx], rax
    made = put(store_of(code, births=True))
    poke(CODE, code)
    for stored, calls in ((7, 0), (HEAP + 0x30, 1)):
        poke(NOTES, bytes(32))
        poke(DATA, bytes(8))
        run(TRAMPOLINES, [stored, *[DATA] * 14], 0)
        assert notes()[3] == calls
        assert unpack("<Q", peek(DATA, 8)) == (stored,)
    slot, _, place, _ = notes()
    assert slot == DATA
    assert (place, CODE) == made.places[1]


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.usefixtures("memory")
def test_every_word_of_a_vector_is_looked_at_for_births(following: bytes) -> None:
    code = b"\xc5\xfe\x7f\x03" + following  # vmovdqu [rbx], ymm0
    made = put(store_of(code, births=True))
    poke(CODE, code)
    for word in range(4):
        poke(NOTES, bytes(32))
        words = [0, 0, 0, 0]
        words[word] = HEAP + 64
        poke(DATA, pack("<4Q", *words))
        run(TRAMPOLINES, [DATA] * len(GENERAL), 0)
        slot, _, place, calls = notes()
        # Its own words are small numbers, or those of the call before.
        assert (slot, calls >= 1) == (DATA, True)
        assert place in {one for one, _ in made.places}


def test_the_widest_vector_has_room_for_both_tests() -> None:
    code = b"\x62\xf1\xfe\x48\x7f\x03"  # vmovdqu64 [rbx], zmm0
    for following in (DEAD, ALIVE):
        made = put(store_of(code + following, births=True))
        assert len(made.places) == 2


EXCHANGES = {
    "xchg [rbx], rcx": b"\x48\x87\x0b",
    "lock cmpxchg [rbx], rcx": b"\xf0\x48\x0f\xb1\x0b",
    "lock xadd [rbx], rcx": b"\xf0\x48\x0f\xc1\x0b",
    "add [rbx], rcx": b"\x48\x01\x0b",
}


@pytest.mark.parametrize("following", [DEAD, ALIVE], ids=["flags-dead", "flags-alive"])
@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.usefixtures("memory")
def test_what_was_exchanged_is_looked_at_for_births(
    name: str, following: bytes
) -> None:
    code = EXCHANGES[name] + following
    made = put(store_of(code, births=True))
    poke(CODE, code)
    poke(NOTES, bytes(32))
    poke(DATA, bytes(8))
    run(TRAMPOLINES, [0, HEAP + 0x30, *[DATA] * 13], 0)
    slot, _, place, calls = notes()
    assert (slot, calls) == (DATA, 1)
    assert (place, CODE) == made.places[1]
    assert unpack("<Q", peek(DATA, 8)) == (HEAP + 0x30,)


def test_a_slot_that_cannot_be_found_again_has_no_birth() -> None:
    assert not store_of(b"\x48\x87\x09" + DEAD, births=True).bears  # xchg [rcx], rcx


@pytest.mark.parametrize(
    ("code", "hook"),
    [
        (b"\x48\xa5", 17),  # movsq
        (b"\xf3\xa4", 18),  # rep movsb
        (b"\xf3\x48\xa5", 21),  # rep movsq
        (b"\xf3\x48\xab", 8),  # rep stosq
    ],
)
def test_what_strings_copy_is_looked_at_for_births(code: bytes, hook: int) -> None:
    made = put(store_of(code + DEAD, births=True))
    assert pack("<i", HOOK_TABLE + 8 * hook) in made.code


@pytest.mark.parametrize("place", [put, put_in_one_piece])
@pytest.mark.usefixtures("memory")
def test_up_to_six_neighbours_run_together(place: Callable[..., Trampoline]) -> None:
    """Seven stores and, among them, an instruction that is none."""
    stores = [b"\x48\x89\x43" + bytes([8 * word]) for word in range(7)]
    code = b"".join([*stores[:3], b"\x48\xff\xc0", *stores[3:], b"\xc3"])
    function = Function(CODE, CODE + len(code), [CODE], [Rule(RSP, 8)])
    census = find_stores(code, CODE, [function])
    first, _ = Gatherer(code, CODE, census).groups(census.stores)
    made = place(*first.steps)
    poke(CODE, code)
    poke(DATA, pack("<7Q", *[HEAP] * 7))
    poke(NOTES, bytes(32))
    run(TRAMPOLINES, [5, *[DATA] * 14], 0)
    assert unpack("<7Q", peek(DATA, 56)) == (5, 5, 5, 6, 6, 6, 6)
    assert notes()[3] == first.stores == 6
    assert [at for _, at in made.places] == [s.address for s in census.stores[:6]]


# Masked stores with their lanes; AVX-512 has more names for the same forms.
MASKED = [
    (Code.EVEX_VMOVDQU8_ZMMM512_K1Z_ZMM, Register.ZMM16, 64),
    (Code.EVEX_VMOVDQU8_YMMM256_K1Z_YMM, Register.YMM16, 32),
    (Code.EVEX_VMOVDQU16_XMMM128_K1Z_XMM, Register.XMM16, 8),
    (Code.EVEX_VMOVUPS_ZMMM512_K1Z_ZMM, Register.ZMM16, 16),
    (Code.EVEX_VMOVDQU64_ZMMM512_K1Z_ZMM, Register.ZMM16, 8),
    (Code.EVEX_VMOVUPD_YMMM256_K1Z_YMM, Register.YMM16, 4),
    (Code.EVEX_VMOVDQU64_XMMM128_K1Z_XMM, Register.XMM16, 2),
]


def masked_store(code: Code_, vector: Register_, memory: MemoryOperand) -> bytes:
    """Return code that loads k3 from rdx and stores a vector of r8 through it."""
    assembler = Assembler(CODE)
    load = Instruction.create_reg_reg(
        Code.EVEX_VPBROADCASTQ_ZMM_K1Z_R64, Register.ZMM16, Register.R8
    )
    assembler.add(load)
    assembler.add(
        Instruction.create_reg_reg(Code.VEX_KMOVQ_KR_R64, Register.K3, Register.RDX)
    )
    store = Instruction.create_mem_reg(code, memory, vector)
    store.op_mask = Register.K3
    assembler.add(store)
    return assembler.code


def masked_operands() -> list[tuple[int | None, MemoryOperand]]:
    """Return operands with the number of their base register."""
    here = MemoryOperand(Register.RIP, displ=DATA + 8, displ_size=8)
    operands: list[tuple[int | None, MemoryOperand]] = [(None, here)]
    for number, base in enumerate(GENERAL):
        operands.append((number, MemoryOperand(base, displ=64, displ_size=8)))
    return operands


RDX_NUMBER = 2


@pytest.mark.parametrize(("code", "vector", "lanes"), MASKED)
@pytest.mark.usefixtures("memory")
def test_a_masked_store_is_done_as_it_was_and_its_mask_told(
    code: Code_, vector: Register_, lanes: int
) -> None:
    if "avx512bw" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no masked vector stores")
    source = random.Random(lanes)  # noqa: S311 - reproducible, not secret
    for base, operand in masked_operands():
        text = masked_store(code, vector, operand)
        store = store_of(text + ALIVE)
        split = store.address - CODE
        made = put(Plain(CODE, text[:split]), store)
        registers = [DATA + 0x2000 + 16 * source.randrange(64) for _ in GENERAL]
        if base != RDX_NUMBER:
            registers[RDX_NUMBER] = source.getrandbits(64)
        flags = source.getrandbits(12) & ARITHMETIC_FLAGS
        content = source.randbytes(0x4000)

        poke(DATA, content)
        poke(CODE, text + ALIVE)
        plain = run(CODE, registers, flags), peek(DATA, len(content))
        poke(DATA, content)
        poke(NOTES, bytes(40))
        patched = run(TRAMPOLINES, registers, flags), peek(DATA, len(content))
        assert patched == plain
        slot, caller, place, calls = notes()
        assert calls == 1
        assert made.places == ((place, store.address),)
        assert FRAME < caller < FRAME + 0x1000
        (told,) = unpack("<Q", peek(NOTES + 32, 8))
        assert told == registers[RDX_NUMBER] & ((1 << lanes) - 1)
        assert slot == (DATA + 8 if base is None else registers[base] + 64)


@pytest.mark.parametrize(
    "code",
    [
        "c4e27d2e13",  # vmaskmovps [rbx], ymm0, ymm2: reads its mask from a vector
        "62f2fd498b03",  # vpcompressq [rbx]{k1}, zmm0: packs what it stores
    ],
)
def test_what_a_mask_may_leave_out_is_never_read(code: str) -> None:
    text = bytes.fromhex(code)
    function = Function(CODE, CODE + len(text), [CODE], [Rule(RSP, 8)])
    census = find_stores(text, CODE, [function])
    assert not census.stores
    assert census.left_out == {"masked vector": 1}
