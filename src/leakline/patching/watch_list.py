"""Writes the watch list of a second run (native/format/refine.md)."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from struct import pack

from iced_x86 import FlowControl, Instruction, Mnemonic

from leakline.patching.liveness import live_before
from leakline.symbols.elf import ElfError
from leakline.symbols.machine_code import CodeFile, MachineCode
from leakline.symbols.resolve import Address, Module, module_file

MAGIC = b"llwatch1"
BUILD_ID_BYTES = 32
_RETURN = 1
_RED_ZONE = 1 << 17
_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL)
_ALIGNMENT = 8
# Code that may run with all signals blocked, where a trap would be deadly.
_NEVER_TRAPPED = ("libc.so", "libc-", "ld-linux", "libpthread", "libleakline.so")


# Whether the function at an address may return a pointer.
MayReturnPointer = Callable[[Address], bool]
# The addresses of a module at which no trap may be set, by its build-id.
Untrappable = Callable[[bytes], Container[int]]
# The ordinal of a target that is any block of its stack, until one is lost.
ANY_BLOCK = 0


@dataclass(frozen=True, slots=True)
class WatchFrame:
    """A frame of a target's call stack: return address and `Node` flags."""

    site: Address
    flags: int


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """A block: the one with a number among the allocations of a stack.

    Attributes:
        frames: Outermost first.
        ordinal: From 1 on, or ANY_BLOCK.
    """

    frames: tuple[WatchFrame, ...]
    ordinal: int


@dataclass(frozen=True, slots=True)
class _Point:
    address: int
    live: int
    kind: int
    first_byte: int


@dataclass(slots=True)
class _Lists:
    """The parts of the file while it grows."""

    may_return: MayReturnPointer
    untrappable: Untrappable
    modules: dict[Module, int] = field(default_factory=dict)
    targets: list[bytes] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    uses: list[bytes] = field(default_factory=list)
    functions: dict[tuple[Module, int], int] = field(default_factory=dict)
    function_rows: list[bytes] = field(default_factory=list)
    points: list[bytes] = field(default_factory=list)
    codes: dict[Module, CodeFile | None] = field(default_factory=dict)


def write_watch_list(
    path: Path,
    targets: Iterable[WatchTarget],
    may_return: MayReturnPointer,
    untrappable: Untrappable = lambda _: (),
) -> None:
    """Writes the list for some targets."""
    lists = _Lists(may_return, untrappable)
    for target in targets:
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
    ]
    content = MAGIC + pack("<6I", *map(len, parts))
    for part in parts:
        content += b"".join(part)
        content += bytes(-len(content) % _ALIGNMENT)
    path.write_bytes(content)


def _add_target(lists: _Lists, target: WatchTarget) -> None:
    first_frame, first_use = len(lists.frames), len(lists.uses)
    activations: dict[int, int] = {}
    for frame in target.frames:
        module = _module(lists, frame.site.module)
        lists.frames.append(pack("<QII", frame.site.offset, module, frame.flags))
        function = _function(lists, frame.site)
        if function is not None:
            activations[function] = activations.get(function, 0) + 1
    lists.uses += [pack("<II", *use) for use in activations.items()]
    lists.targets.append(
        pack(
            "<5I",
            target.ordinal,
            first_frame,
            len(target.frames),
            first_use,
            len(activations),
        )
    )


def _module(lists: _Lists, module: Module) -> int:
    return lists.modules.setdefault(module, len(lists.modules))


def _function(lists: _Lists, site: Address) -> int | None:
    """The number of the function that a call is made from; None if it is not trapped."""
    if PurePosixPath(site.module.path).name.startswith(_NEVER_TRAPPED):
        return None
    if site.module not in lists.codes:
        lists.codes[site.module] = _open(site.module)
    opened = lists.codes[site.module]
    code = opened.function_at(site.offset - 1) if opened is not None else None
    if code is None or opened is None:
        return None
    key = (site.module, code.start)
    if key not in lists.functions:
        number = lists.functions[key] = len(lists.function_rows)
        may_return = lists.may_return(Address(site.module, code.start))
        changed = lists.untrappable(site.module.build_id)
        points = [
            point
            for point in points_of(opened, code, returns_pointer=may_return)
            if point.address not in changed
        ]
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
    file: CodeFile, code: MachineCode, *, returns_pointer: bool
) -> list[_Point]:
    """The points of a function: where blocks of code begin and where it is left."""
    live = live_before(code, returns_pointer=returns_pointer)
    calls = any(one.flow_control in _CALLS for one in code.instructions.values())
    red_zone = 0 if calls else _RED_ZONE
    found = []
    for address in sorted(_leaders(code)):
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
