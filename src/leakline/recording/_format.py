"""Layouts of recordings and the runtime's options.

Generated from `native/format` by `tools/generate_format.py`: change those.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

FILE_MAGIC = 0x656E696C6B61656C
CHUNK_MAGIC = 0x4B434C4C
VERSION = 1


class Origin(IntEnum):
    """Values of `origin`."""

    EXEC = 0
    FORK = 1


class NotSeen(IntEnum):
    """Values of `not_seen`."""

    ALLOCATOR = 1
    THREAD = 2
    MEMORY = 3
    ROOTS = 4
    SIGNALS = 5
    HEAP = 6
    STACKS = 7
    OPTIONS = 8
    SANDBOX = 9
    LOSSES = 10
    STALENESS = 11
    ACCESSES = 12
    FREES = 13


class Module(IntEnum):
    """Values of `module`."""

    LOADED = 0
    UNLOADED = 1


class Node(IntEnum):
    """Values of `node`."""

    FOLDED = 1
    STOPPED = 2
    EXACT_PC = 4
    SIGNAL = 8
    SITE = 16


class Stop(IntEnum):
    """Values of `stop`."""

    NONE = 0
    NO_UNWIND_TABLE = 1
    EXPRESSION = 2
    OUTSIDE_STACK = 3
    DEPTH = 4


class Trigger(IntEnum):
    """Values of `trigger`."""

    EXIT = 1
    QUICK_EXIT = 2
    SIGNAL = 3
    EXEC = 4
    DEMAND = 5
    PERIODIC = 6
    PROGRAM = 7


class Cause(IntEnum):
    """Values of `cause`."""

    UNKNOWN = 0
    OVERWRITTEN = 1
    CONTAINER_FREED = 2
    NOT_IN_MEMORY = 3
    UNMAPPED = 4
    THREAD_EXIT = 5
    SITE = 6
    THREAD_VARIABLE = 7
    JUMPED_OVER = 8


class Group(IntEnum):
    """Values of `group`."""

    LOST = 1
    INDIRECT = 2
    REACHABLE = 3
    IGNORED = 4


class Idle(IntEnum):
    """Values of `idle`."""

    LOWER = 1
    UPPER = 2
    NEVER_USED = 4
    PART = 8


class Tracking(IntEnum):
    """Values of `tracking`."""

    ACTIVE = 1
    UNAVAILABLE = 2
    ENDED = 3


class Refined(IntEnum):
    """Values of `refined`."""

    NOT_MET = 0
    HELD = 1
    LOST = 2
    FREED = 3
    GIVEN_UP = 4


class Holder(IntEnum):
    """Values of `holder`."""

    NONE = 0
    REGISTER = 1
    SLOT = 2
    MEMORY = 3


class Reference(IntEnum):
    """Values of `reference`."""

    VARIABLE = 1
    BLOCK = 2


class TouchStacks(IntEnum):
    """Values of `touch_stacks`."""

    ACTIVE = 1
    REFUSED = 2
    FAILED = 3
    ENDED = 4


class FileHeader(NamedTuple):
    """Record `file_header`."""

    magic: int
    version: int
    reserved: int


class ChunkHeader(NamedTuple):
    """Record `chunk_header`."""

    magic: int
    length: int
    pid: int
    sequence: int
    started_ns: int
    crc: int
    writer: int


class RecordHeader(NamedTuple):
    """Record `record_header`."""

    tag: int
    length: int


class ProcessStartRecord(NamedTuple):
    """Record `process_start`."""

    pid: int
    parent_pid: int
    origin: int
    reserved: int
    realtime_ns: int
    text: bytes


class OptionRecord(NamedTuple):
    """Record `option`."""

    text: bytes


class NotSeenRecord(NamedTuple):
    """Record `not_seen`."""

    reason: int
    detail: int
    text: bytes


class ModuleRecord(NamedTuple):
    """Record `module`."""

    id: int
    state: int
    base: int
    start: int
    end: int
    build_id_length: int
    reserved: int
    text: bytes


class NodeRecord(NamedTuple):
    """Record `node`."""

    id: int
    parent: int
    pc: int
    module: int
    flags: int
    reason: int


class SnapshotBeginRecord(NamedTuple):
    """Record `snapshot_begin`."""

    number: int
    trigger: int
    signal: int
    threads: int
    request: int
    reserved: int
    realtime_ns: int
    cpu_ns: int


class GroupRecord(NamedTuple):
    """Record `group`."""

    kind: int
    stack: int
    leader: int
    loss: int
    cause: int
    loss_offset: int
    blocks: int
    bytes: int
    indirect_blocks: int
    indirect_bytes: int
    address: int


class StackHeldRecord(NamedTuple):
    """Record `stack_held`."""

    stack: int
    frame: int
    direct: int
    set: int
    cfa_offset: int
    blocks: int
    bytes: int
    address: int


class HeapTotalsRecord(NamedTuple):
    """Record `heap_totals`."""

    live_blocks: int
    live_bytes: int
    allocations: int
    frees: int
    peak_bytes: int
    mapped_bytes: int
    mark_ns: int


class SnapshotEndRecord(NamedTuple):
    """Record `snapshot_end`."""

    number: int
    groups: int


class ProcessEndRecord(NamedTuple):
    """Record `process_end`."""

    trigger: int
    status: int
    realtime_ns: int


class ForkRecord(NamedTuple):
    """Record `fork`."""

    child_pid: int
    reserved: int


class ExecRecord(NamedTuple):
    """Record `exec`."""

    text: bytes


class ExecFailedRecord(NamedTuple):
    """Record `exec_failed`."""

    error: int
    reserved: int


class SpawnRecord(NamedTuple):
    """Record `spawn`."""

    child_pid: int
    reserved: int
    text: bytes


class SuppressionsRecord(NamedTuple):
    """Record `suppressions`."""

    text: bytes


class IdleRecord(NamedTuple):
    """Record `idle`."""

    stack: int
    last_use: int
    flags: int
    reserved: int
    lower_ms: int
    longest_ms: int
    upper_ms: int
    blocks: int
    bytes: int
    drag_byte_ms: int


class TrackingRecord(NamedTuple):
    """Record `tracking`."""

    state: int
    resolution_pages: int
    touch_ns: int
    scans: int
    touches: int
    watched_pages: int
    pages: int
    resident_bytes: int
    scan_ns: int
    now_ms: int


class RawBlockRecord(NamedTuple):
    """Record `raw_block`."""

    stack: int
    flags: int
    address: int
    size: int
    lower_ms: int


class RawPageRecord(NamedTuple):
    """Record `raw_page`."""

    address: int
    lower_ms: int
    blocks: int
    flags: int


class SkippedFreeRecord(NamedTuple):
    """Record `skipped_free`."""

    stack: int
    freed: int
    address: int
    size: int
    cpu_ms: int


class TouchedRecord(NamedTuple):
    """Record `touched`."""

    kind: int
    stack: int
    last_access: int
    windows: int
    idle_ms: int
    idle_most_ms: int
    active_ms: int
    blocks: int
    bytes: int
    drag_byte_ms: int


class RawTouchRecord(NamedTuple):
    """Record `raw_touch`."""

    address: int
    idle_ms: int
    active_ms: int
    stack: int
    windows: int
    accessed: int
    kind: int


class UsedBeforeRecord(NamedTuple):
    """Record `used_before`."""

    last_access: int
    first: int
    second: int
    third: int
    fourth: int
    reserved: int


class SamplingRecord(NamedTuple):
    """Record `sampling`."""

    bursts: int
    touches: int
    windows: int
    window_ns: int
    spent_ns: int
    places: int
    contradictions: int


class RefinableRecord(NamedTuple):
    """Record `refinable`."""

    stack: int
    ordinal: int


class RefinedRecord(NamedTuple):
    """Record `refined`."""

    target: int
    outcome: int
    stack: int
    loss: int
    steps: int
    trigger: int


class RefinedStepRecord(NamedTuple):
    """Record `refined_step`."""

    target: int
    node: int
    holder: int
    holder_register: int
    slot_from_sp: int
    rbp_from_sp: int


class SiblingFreeRecord(NamedTuple):
    """Record `sibling_free`."""

    stack: int
    freed: int


class BirthRecord(NamedTuple):
    """Record `birth`."""

    address: int
    birth: int
    reserved: int


class ReferenceRecord(NamedTuple):
    """Record `reference`."""

    stack: int
    kind: int
    holder: int
    offset: int
    birth: int
    reserved: int
    slots: int


class MergingRecord(NamedTuple):
    """Record `merging`."""

    merged_pages: int
    shelves: int
    emptied_pages: int
    footprint_bytes: int
    passes: int
    stopped_ns: int
    longest_stop_ns: int


class ClocksRecord(NamedTuple):
    """Record `clocks`."""

    cpu_ms: int
    wall_ms: int
    allocations: int


class TouchStacksRecord(NamedTuple):
    """Record `touch_stacks`."""

    state: int
    reserved: int
    told: int
    unknown: int
    longest_ns: int


FILE_HEADER = Struct("<QII")
CHUNK_HEADER = Struct("<IIIIQII")
RECORD_HEADER = Struct("<II")

Record = (
    ProcessStartRecord
    | OptionRecord
    | NotSeenRecord
    | ModuleRecord
    | NodeRecord
    | SnapshotBeginRecord
    | GroupRecord
    | StackHeldRecord
    | HeapTotalsRecord
    | SnapshotEndRecord
    | ProcessEndRecord
    | ForkRecord
    | ExecRecord
    | ExecFailedRecord
    | SpawnRecord
    | SuppressionsRecord
    | IdleRecord
    | TrackingRecord
    | RawBlockRecord
    | RawPageRecord
    | SkippedFreeRecord
    | TouchedRecord
    | RawTouchRecord
    | UsedBeforeRecord
    | SamplingRecord
    | RefinableRecord
    | RefinedRecord
    | RefinedStepRecord
    | SiblingFreeRecord
    | BirthRecord
    | ReferenceRecord
    | MergingRecord
    | ClocksRecord
    | TouchStacksRecord
)


class Layout(NamedTuple):
    """How the record of one tag is stored."""

    record: type[Record]
    fields: Struct
    has_text: bool


LAYOUTS: dict[int, Layout] = {
    1: Layout(
        ProcessStartRecord,
        Struct("<IIIIQ"),
        has_text=True,
    ),
    2: Layout(
        OptionRecord,
        Struct("<"),
        has_text=True,
    ),
    3: Layout(
        NotSeenRecord,
        Struct("<II"),
        has_text=True,
    ),
    4: Layout(
        ModuleRecord,
        Struct("<IIQQQII"),
        has_text=True,
    ),
    5: Layout(
        NodeRecord,
        Struct("<IIQIHH"),
        has_text=False,
    ),
    6: Layout(
        SnapshotBeginRecord,
        Struct("<IIIIIIQQ"),
        has_text=False,
    ),
    7: Layout(
        GroupRecord,
        Struct("<IIIIIIQQQQQ"),
        has_text=False,
    ),
    8: Layout(
        StackHeldRecord,
        Struct("<IIIIqQQQ"),
        has_text=False,
    ),
    9: Layout(
        HeapTotalsRecord,
        Struct("<QQQQQQQ"),
        has_text=False,
    ),
    10: Layout(
        SnapshotEndRecord,
        Struct("<II"),
        has_text=False,
    ),
    11: Layout(
        ProcessEndRecord,
        Struct("<IIQ"),
        has_text=False,
    ),
    12: Layout(
        ForkRecord,
        Struct("<II"),
        has_text=False,
    ),
    13: Layout(
        ExecRecord,
        Struct("<"),
        has_text=True,
    ),
    14: Layout(
        ExecFailedRecord,
        Struct("<II"),
        has_text=False,
    ),
    15: Layout(
        SpawnRecord,
        Struct("<II"),
        has_text=True,
    ),
    16: Layout(
        SuppressionsRecord,
        Struct("<"),
        has_text=True,
    ),
    17: Layout(
        IdleRecord,
        Struct("<IIIIQQQQQQ"),
        has_text=False,
    ),
    18: Layout(
        TrackingRecord,
        Struct("<IIQQQQQQQQ"),
        has_text=False,
    ),
    19: Layout(
        RawBlockRecord,
        Struct("<IIQQQ"),
        has_text=False,
    ),
    20: Layout(
        RawPageRecord,
        Struct("<QQII"),
        has_text=False,
    ),
    21: Layout(
        SkippedFreeRecord,
        Struct("<IIQQQ"),
        has_text=False,
    ),
    22: Layout(
        TouchedRecord,
        Struct("<IIIIQQQQQQ"),
        has_text=False,
    ),
    30: Layout(
        RawTouchRecord,
        Struct("<QQQIIII"),
        has_text=False,
    ),
    29: Layout(
        UsedBeforeRecord,
        Struct("<IIIIII"),
        has_text=False,
    ),
    23: Layout(
        SamplingRecord,
        Struct("<QQQQQII"),
        has_text=False,
    ),
    24: Layout(
        RefinableRecord,
        Struct("<II"),
        has_text=False,
    ),
    25: Layout(
        RefinedRecord,
        Struct("<IIIIII"),
        has_text=False,
    ),
    26: Layout(
        RefinedStepRecord,
        Struct("<IIIIqq"),
        has_text=False,
    ),
    27: Layout(
        SiblingFreeRecord,
        Struct("<II"),
        has_text=False,
    ),
    28: Layout(
        BirthRecord,
        Struct("<QII"),
        has_text=False,
    ),
    31: Layout(
        ReferenceRecord,
        Struct("<IIIIIIQ"),
        has_text=False,
    ),
    32: Layout(
        MergingRecord,
        Struct("<QQQQQQQ"),
        has_text=False,
    ),
    33: Layout(
        ClocksRecord,
        Struct("<QQQ"),
        has_text=False,
    ),
    34: Layout(
        TouchStacksRecord,
        Struct("<IIQQQ"),
        has_text=False,
    ),
}


class RuntimeOption(NamedTuple):
    """One key of LEAKLINE_OPTIONS."""

    kind: type[str | int | bool]
    default: str | int | bool
    help: str


OPTIONS: dict[str, RuntimeOption] = {
    "recording": RuntimeOption(
        str,
        "",
        "file that receives the recording; none: do nothing",
    ),
    "lens": RuntimeOption(
        str,
        "reach",
        "lenses to look through, separated by commas",
    ),
    "plans": RuntimeOption(
        str,
        "",
        "folder of patch plans for lens loss",
    ),
    "unpatched": RuntimeOption(
        str,
        "",
        "file names of modules to leave unpatched, separated by commas",
    ),
    "births": RuntimeOption(
        bool,
        False,
        "note where lost references were created, with lens loss",
    ),
    "loss_stacks": RuntimeOption(
        bool,
        False,
        "keep the whole call stack of each loss, with lens loss",
    ),
    "depth": RuntimeOption(
        int,
        64,
        "frames kept of each call stack, 1 to 256",
    ),
    "search_limit": RuntimeOption(
        int,
        0,
        "memory of more bytes is not searched when it goes; 0: all is",
    ),
    "stop_signal": RuntimeOption(
        int,
        62,
        "signal that stops threads and asks for snapshots",
    ),
    "ordinals": RuntimeOption(
        bool,
        False,
        "number the allocations of each call stack, to find a block again",
    ),
    "watch": RuntimeOption(
        str,
        "",
        "watch list of a second run: whose losses are traced",
    ),
    "watch_later": RuntimeOption(
        str,
        "",
        "name of watch lists to come while the program runs",
    ),
    "children": RuntimeOption(
        bool,
        True,
        "watch programs that the program starts",
    ),
    "dead_slots": RuntimeOption(
        bool,
        True,
        "record blocks that only stack slots hold",
    ),
    "clear_freed": RuntimeOption(
        bool,
        False,
        "clear references in freed blocks, which hide leaks later",
    ),
    "reachable": RuntimeOption(
        bool,
        True,
        "record the stacks of blocks that are not lost, too",
    ),
    "references": RuntimeOption(
        bool,
        False,
        "record which slots refer to blocks that are not lost",
    ),
    "context_depth": RuntimeOption(
        int,
        4,
        "frames that tell allocation sites apart, lens pages",
    ),
    "context_blocks": RuntimeOption(
        int,
        64,
        "live blocks from which a site gets pages of its own",
    ),
    "scan_ms": RuntimeOption(
        int,
        100,
        "least processor time between scans of lens pages",
    ),
    "compact": RuntimeOption(
        bool,
        False,
        "let idle pages share memory, with lens pages",
    ),
    "touch_stacks": RuntimeOption(
        bool,
        False,
        "tell who touched idle pages last, with lens pages",
    ),
    "raw_blocks": RuntimeOption(
        bool,
        False,
        "record every block that lenses pages and accesses know of",
    ),
    "skip_free": RuntimeOption(
        int,
        0,
        "injected leaks: frees that do not happen, of a thousand",
    ),
    "skip_free_seed": RuntimeOption(
        int,
        1,
        "which frees those are",
    ),
    "skip_free_least": RuntimeOption(
        int,
        0,
        "size of the smallest blocks that they concern",
    ),
    "skip_free_most": RuntimeOption(
        int,
        1073741824,
        "size of the largest blocks they concern",
    ),
    "burst": RuntimeOption(
        int,
        10,
        "touches of a site that are noted each time it is armed",
    ),
    "decrease": RuntimeOption(
        int,
        10,
        "how much rarer a site is armed after each burst",
    ),
    "sampling_ppm": RuntimeOption(
        int,
        1000,
        "millionths of all touches noted at the least",
    ),
    "budget_ppm": RuntimeOption(
        int,
        20000,
        "millionths of the CPU time for lens accesses",
    ),
    "text_poke": RuntimeOption(
        bool,
        False,
        "change code as where the processor sees parts of writes",
    ),
    "arm_stress": RuntimeOption(
        bool,
        False,
        "arm and disarm code continuously, to test Leakline",
    ),
}
