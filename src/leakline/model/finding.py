"""What every engine produces and every report shows: one leak with its evidence.

A finding carries all that is known about it; evidence that an engine did not see is
None, never invented.
"""

from dataclasses import dataclass
from enum import Enum

from leakline.model.stack import Frame, Stack


class Kind(Enum):
    """What is wrong with the memory."""

    LOST = "lost"
    INDIRECT = "indirectly lost"
    REACHABLE = "reachable"
    STALE = "stale"
    NEVER_USED = "never-used"
    DOUBLE_FREE = "double free"
    USE_AFTER_FREE = "use after free"
    MISMATCHED_RELEASE = "mismatched release"
    NULL_DEREFERENCE = "null dereference"


# Memory that somebody may still use or free: it never makes a run fail.
HELD = frozenset({Kind.REACHABLE, Kind.STALE, Kind.NEVER_USED})


class Confidence(Enum):
    """How sure the engines are."""

    EXACT = "exact"
    LIKELY = "likely"


class Cause(Enum):
    """The event that removed the last reference."""

    OVERWRITTEN = "overwritten"
    OUT_OF_SCOPE = "out-of-scope"
    CONTAINER_FREED = "container-freed"
    NEVER_STORED = "never-stored"
    THREAD_EXIT = "thread-exit"
    UNMAPPED = "unmapped"


class Precision(Enum):
    """How exactly the place of a loss is known."""

    EXACT = "exact"  # this line
    LINE_TABLE = "line-table"  # this function; the line is that of optimised code
    APPROXIMATE = "approximate"  # inlined code: about this line
    WINDOW = "window"  # during the call at this line
    FUNCTION = "function"  # this function; there is no debug information
    PROBABLE = "probable"  # concluded from the code, not seen


class Engine(Enum):
    """Which part of Leakline saw the leak."""

    REACH = "reach"
    LOSS = "loss"
    PAGES = "pages"
    ACCESSES = "accesses"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Loss:
    """Where and why the last reference went.

    Attributes:
        stack: Innermost first; a first frame without a line is a function of which no
            more is known.
        slot: The variable or field that held the reference, None when not known.
        variables_seen: Variables were watched like memory, so none of them held the
            block any longer.
    """

    cause: Cause
    stack: Stack
    slot: str | None = None
    precision: Precision = Precision.EXACT
    variables_seen: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """Slots of one kind that still refer to blocks.

    Attributes:
        slot: The variable or field, None when not known.
        slots: How many such slots there are.
        offset: Of the slots in the block that holds them; 0 for variables.
        holder: Allocation of the block that holds them; None for variables.
        birth: The store that created one of the references.
    """

    slot: str | None
    slots: int
    offset: int = 0
    holder: Stack | None = None
    birth: Stack | None = None


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of the path that leads to a leak."""

    file: str
    line: int
    event: str
    column: int = 0


class Fate(Enum):
    """What a call does with a block that it is given."""

    READS = "reads"
    KEEPS = "keeps"
    FREES = "frees"
    RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class Handover:
    """A call on the path to a leak that was given the block.

    Attributes:
        function: The called function.
        fate: What it does with the block on this path.
        otherwise: What it does with it on other paths; None when nothing more.
    """

    function: str
    file: str
    line: int
    fate: Fate
    otherwise: Fate | None = None


@dataclass(frozen=True, slots=True)
class OtherPaths:
    """What paths of the function that loses a block do besides the one that loses it.

    Attributes:
        on_every_path: Every way from the allocation out of the function passes the
            line of the loss.
        released: Where other paths release such a block and may still come to that
            line.
    """

    on_every_path: bool
    released: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class Staleness:
    """Process CPU seconds since the last use, as an interval; None is unbounded."""

    lower_s: float | None
    upper_s: float | None


@dataclass(frozen=True, slots=True)
class StalePoint:
    """How many blocks were used that recently.

    Attributes:
        stale_s: Process CPU seconds before the look.
        blocks: Blocks of the finding whose known staleness is at most that: the lower
            bound where only that is known.
    """

    stale_s: float
    blocks: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak: all blocks of one kind that were allocated by one call stack.

    Attributes:
        id: Fingerprint; survives moved lines, rebuilt binaries and ASLR.
        blocks: Number of blocks; static findings count one per site.
        bytes: Total requested size; 0 when it is not known statically.
        indirect_blocks: Blocks lost only through these, for `lost` findings.
        indirect_bytes: Their total requested size.
        leader: For indirectly lost blocks, the allocation of the lost block that
            leads to them.
        references: For blocks that are not lost, the slots that refer to them; those with
            the most slots first. Empty when nobody asked.
        used_before: Where the thread of the last access had used memory shortly before,
            the most recent first.
        stale_curve: The distribution of the blocks' staleness, rising in both; its last
            point counts the blocks whose last use is known. Empty when not known.
        handovers: Calls of the path that were given the block, in order.
        other_paths: What the checker knows of the paths besides; None when it did not
            look.
        release: The function that releases such blocks; empty when not known.
        processes: Ids of the processes the blocks belong to.
        notes: Sentences about the limits of this evidence.
        advice: Where the block could be released, in words; empty when not known.
        other_ids: Fingerprints of findings of other engines that were joined into
            this one.
    """

    id: str
    engines: tuple[Engine, ...]
    kind: Kind
    confidence: Confidence
    blocks: int
    bytes: int
    allocation: Stack
    indirect_blocks: int = 0
    indirect_bytes: int = 0
    leader: Stack | None = None
    birth: Stack | None = None
    loss: Loss | None = None
    last_access: Stack | None = None
    references: tuple[Reference, ...] = ()
    used_before: tuple[Stack, ...] = ()
    sibling_frees: tuple[Stack, ...] = ()
    staleness: Staleness | None = None
    drag_byte_s: float | None = None
    stale_curve: tuple[StalePoint, ...] = ()
    path: tuple[PathStep, ...] = ()
    handovers: tuple[Handover, ...] = ()
    other_paths: OtherPaths | None = None
    release: str = ""
    processes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    advice: str = ""
    other_ids: tuple[str, ...] = ()
