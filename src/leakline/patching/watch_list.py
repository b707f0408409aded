"""Writes the watch list of a second run (native/format/refine.md)."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path, PurePosixPath
from struct import pack

from iced_x86 import (
    FlowControl,
    Instruction,
    MemorySizeExt,
    Mnemonic,
    OpKind,
    Register,
)

from leakline.patching.liveness import live_before
from leakline.recording._format import Node
from leakline.symbols.dwarf_registers import DWARF_REGISTERS
from leakline.symbols.elf import ElfError
from leakline.symbols.machine_code import CodeFile, MachineCode
from leakline.symbols.resolve import Address, Module, module_file

MAGIC = b"llwatch2"
BUILD_ID_BYTES = 32
_RETURN = 1
_RED_ZONE = 1 << 17
_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL)
_ALIGNMENT = 8
_WORD_BYTES = 8
_LARGEST_STORE_BYTES = 64
_NO_REGISTER = 0xFF
# Code that may run with all signals blocked, where a trap would be deadly.
_NEVER_TRAPPED = ("libc.so", "libc-", "ld-linux", "libpthread", "libleakline.so")


# How many words the function at an address returns that may hold pointers.
ReturnedWords = Callable[[Address], int]
# The addresses of a module at which no trap may be set, by its build-id.
Untrappable = Callable[[bytes], Container[int]]
# The ordinal of a target that is any block of its stack, until one is lost.
ANY_BLOCK = 0


@dataclass(frozen=True, slots=True)
class WatchFrame:
    """A frame of a target's call stack: return address and `Node` flags."""

    site: Address
    flags: int


class Trigger(IntEnum):
    """What a block is followed from on."""

    BIRTH = 0
    STORE = 1
    FREE = 2


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """A block: the one with a number among the allocations of a stack.

    Attributes:
        frames: Outermost first.
        ordinal: From 1 on, or ANY_BLOCK.
        trigger: What it is followed from on.
        loss: The call stack of the store or free that it is followed from, outermost
            first; the last frame of a store is the store itself.
    """

    frames: tuple[WatchFrame, ...]
    ordinal: int
    trigger: Trigger = Trigger.BIRTH
    loss: tuple[WatchFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class _Point:
    address: int
    live: int
    kind: int
    first_byte: int


@dataclass(slots=True)
class _Lists:
    """The parts of the file while it grows."""

    returned_words: ReturnedWords
    untrappable: Untrappable
    modules: dict[Module, int] = field(default_factory=dict)
    targets: list[bytes] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    uses: list[bytes] = field(default_factory=list)
    functions: dict[tuple[Module, int], int] = field(default_factory=dict)
    function_rows: list[bytes] = field(default_factory=list)
    points: list[bytes] = field(default_factory=list)
    point_numbers: dict[Address, int] = field(default_factory=dict)
    stores: list[bytes] = field(default_factory=list)
    waited: set[Address] = field(default_factory=set)
    codes: dict[Module, CodeFile | None] = field(default_factory=dict)


def write_watch_list(
    path: Path,
    targets: Iterable[WatchTarget],
    returned_words: ReturnedWords,
    untrappable: Untrappable = lambda _: (),
) -> None:
    """Writes the list for some targets."""
    lists = _Lists(returned_words, untrappable)
    wanted = list(targets)
    lists.waited |= {one.loss[-1].site for one in wanted if _is_behind_store(one)}
    for target in wanted:
        _add_target(lists, target)
    modules = [
        pack("<I32s", len(module.build_id), module.build_id) for module in lists.modules
    ]
    parts = [
        modules,
        lists.targets,
        lists.frames,
        lists.uses,
        lists.function_rows,
        lists.points,
        lists.stores,
    ]
    content = MAGIC + pack("<8I", *map(len, parts), 0)
    for part in parts:
        content += b"".join(part)
        content += bytes(-len(content) % _ALIGNMENT)
    path.write_bytes(content)


def _is_behind_store(target: WatchTarget) -> bool:
    return target.trigger is Trigger.STORE


def _add_target(lists: _Lists, target: WatchTarget) -> None:
    """Adds a target, unless it waits for a store that cannot be trapped."""
    first_use = len(lists.uses)
    way = target.frames if target.trigger is Trigger.BIRTH else target.loss
    activations = _activations(lists, way)
    store = _add_store(lists, target) if _is_behind_store(target) else 0
    if store is None:
        return
    lists.uses += [pack("<II", *use) for use in activations.items()]
    lists.targets.append(
        pack(
            "<9I",
            target.ordinal,
            *_add_frames(lists, target.frames),
            first_use,
            len(activations),
            target.trigger,
            store,
            *_add_frames(lists, target.loss),
        )
    )


def _activations(lists: _Lists, frames: Iterable[WatchFrame]) -> dict[int, int]:
    """How many frames each function that is trapped has on a stack."""
    found: dict[int, int] = {}
    for frame in frames:
        function = _function(lists, frame)
        if function is not None:
            found[function] = found.get(function, 0) + 1
    return found


def _add_frames(lists: _Lists, frames: Iterable[WatchFrame]) -> tuple[int, int]:
    """Where the frames begin in the list, and how many they are."""
    first = len(lists.frames)
    for frame in frames:
        module = _module(lists, frame.site.module)
        lists.frames.append(pack("<QII", frame.site.offset, module, frame.flags))
    return first, len(lists.frames) - first


def _add_store(lists: _Lists, target: WatchTarget) -> int | None:
    """The number of the store that a target waits for; None if it cannot be trapped."""
    site = target.loss[-1].site
    point = lists.point_numbers.get(site)
    opened = lists.codes.get(site.module)
    code = opened.function_at(site.offset) if opened is not None else None
    if code is None or point is None:
        return None
    operand = _operand(code.instructions[site.offset])
    if operand is None:
        return None
    lists.stores.append(pack("<I", point) + operand)
    return len(lists.stores) - 1


def _operand(store: Instruction) -> bytes | None:
    """Where a store writes, if that is a place of whole words known by registers."""
    size = int(MemorySizeExt.size(store.memory_size))
    base, index = int(store.memory_base), int(store.memory_index)
    displacement = int(store.memory_displacement)
    registers = {**DWARF_REGISTERS, int(Register.NONE): _NO_REGISTER}
    if base == Register.RIP:
        base = int(Register.NONE)
    if (
        store.op0_kind != OpKind.MEMORY
        or store.memory_segment in (Register.FS, Register.GS)
        or not {base, index} <= registers.keys()
        or not _WORD_BYTES <= size <= _LARGEST_STORE_BYTES
    ):
        return None
    scale = int(store.memory_index_scale)
    signed = displacement - ((displacement >> 63) << 64)
    return pack("<BBBBq", registers[base], registers[index], scale, size, signed)


def _module(lists: _Lists, module: Module) -> int:
    return lists.modules.setdefault(module, len(lists.modules))


def _function(lists: _Lists, frame: WatchFrame) -> int | None:
    """The number of the function that a call is made from; None if it is not trapped."""
    site = frame.site
    inside = site.offset - (0 if frame.flags & Node.EXACT_PC else 1)
    if PurePosixPath(site.module.path).name.startswith(_NEVER_TRAPPED):
        return None
    if site.module not in lists.codes:
        lists.codes[site.module] = _open(site.module)
    opened = lists.codes[site.module]
    code = opened.function_at(inside) if opened is not None else None
    if code is None or opened is None:
        return None
    key = (site.module, code.start)
    if key not in lists.functions:
        number = lists.functions[key] = len(lists.function_rows)
        words = lists.returned_words(Address(site.module, code.start))
        changed = lists.untrappable(site.module.build_id)
        waited = {one.offset for one in lists.waited if one.module == site.module}
        points = [
            point
            for point in points_of(opened, code, waited, returned_words=words)
            if point.address not in changed
        ]
        lists.point_numbers |= {
            Address(site.module, point.address): len(lists.points) + index
            for index, point in enumerate(points)
        }
        lists.function_rows.append(pack("<II", len(lists.points), len(points)))
        module = _module(lists, site.module)
        lists.points += [
            pack(
                "<QIIIBBH",
                point.address,
                module,
                point.live,
                number,
                point.kind,
                point.first_byte,
                0,
            )
            for point in points
        ]
    return lists.functions[key]


def _open(module: Module) -> CodeFile | None:
    elf = module_file(module)
    try:
        return CodeFile(elf) if elf is not None else None
    except ElfError:
        return None


def points_of(
    file: CodeFile,
    code: MachineCode,
    waited: Container[int] = (),
    *,
    returned_words: int,
) -> list[_Point]:
    """The points of a function: where blocks of code begin and where it is left.

    Args:
        file: Has the function.
        code: The function.
        waited: Addresses that are points, too, if they are the function's.
        returned_words: How many words it returns that may hold pointers.
    """
    live = live_before(code, returned_words=returned_words)
    calls = any(one.flow_control in _CALLS for one in code.instructions.values())
    red_zone = 0 if calls else _RED_ZONE
    found = []
    stores = {address for address in code.instructions if address in waited}
    for address in sorted(_leaders(code) | stores):
        instruction = code.instructions[address]
        # A step over a repeated instruction ends after each of its repetitions.
        if instruction.has_rep_prefix or instruction.has_repne_prefix:
            continue
        is_end = instruction.flow_control == FlowControl.RETURN
        kind = _RETURN if is_end or address in code.tail_calls else 0
        first_byte = file.bytes_at(address, 1)[0]
        alive = live[address] | (0 if kind else red_zone)
        found.append(_Point(address, alive, kind, first_byte))
    return found


def _leaders(code: MachineCode) -> set[int]:
    leaders = {code.start} | code.tail_calls | code.branch_targets
    after_end = False
    for address in sorted(code.instructions):
        instruction = code.instructions[address]
        if after_end and instruction.mnemonic != Mnemonic.NOP:
            leaders.add(address)
            after_end = False
        flow = instruction.flow_control
        if flow == FlowControl.RETURN:
            leaders.add(address)
        if flow != FlowControl.NEXT:
            leaders.add(instruction.next_ip)
            after_end = not _goes_on(instruction)
    return leaders & code.instructions.keys()


def _goes_on(instruction: Instruction) -> bool:
    return instruction.flow_control in (
        FlowControl.CALL,
        FlowControl.INDIRECT_CALL,
        FlowControl.CONDITIONAL_BRANCH,
    )
