"""What is true at one point of a walk: registers, memory, objects, ranges.

States are copied at every branch, so their tables are shared and copied on write.
"""

from typing import Any, NamedTuple, TypeAlias

from leakline.static.engine.ranges import Range
from leakline.static.engine.values import Offset, Value

# The life of an object: owned by nobody but what we see, released, or out of sight.
ALLOCATED, FREED, ESCAPED = "allocated", "freed", "escaped"

# A cell holds a value of a number of bytes.
Cells: TypeAlias = dict[Offset, tuple[Value, int]]

# What is known of some symbols' numbers.
Known: TypeAlias = tuple[tuple[int, Range], ...]

_MEMORY, _RANGES, _OBJECTS, _HOLDERS, _VARIABLES, _FACTS = 1, 2, 4, 8, 16, 32
_ALL = 63


class LoopRound(NamedTuple):
    """One loop being walked.

    Attributes:
        head: Its first block.
        number: How often control came back to the head.
        outer_epoch: The epoch before the loop.
        env: The head's phis as the loop was entered.
        memory: Memory as the loop was entered.
        last: The head's phis, and memory, as the round began.
        objects: Lives of objects as the round began.
        heap: Lives and holders of objects as the loop was entered.
    """

    head: int
    number: int
    outer_epoch: int
    env: dict[int, Value]
    memory: dict[int, Cells]
    last: tuple[dict[int, Value], dict[int, Cells]]
    objects: dict[int, str]
    heap: tuple[dict[int, str], dict[tuple[int, Offset], int]]


class State:
    """One state.

    Attributes:
        env: Register to value, for registers that are still needed.
        memory: Base of an object to its cells.
        versions: Base of an object to the version of its unknown contents.
        zeroed: Objects whose cells not in `memory` are zero.
        holders: Place (base, offset) to the base of the object it points to, for heap
            and frame objects only.
        variables: Source variable to the heap object it holds.
        objects: Base to its life; heap objects, and symbols freed or escaped here.
        ranges: Base of a symbol to what is known of its number.
        alternatives: Of states that were joined here, what each knew of callers'
            memory beyond `ranges`: one of them holds. Empty when that is too much.
        pointed: Symbols that memory was read or written through, so that they are not
            null. Nobody had to ask for that, so it is no condition on callers.
        epoch: Tells unknown values of different rounds of a loop apart.
        loops: The loops being walked, outermost first.
        world: Version of what unknown code may have changed (globals).
        copied: Objects of callers whose contents were copied elsewhere.
        touched: Ids of globals that callees changed and that are not named here.
        thrown: The type of the exception on its way or being handled, None when it is
            not known.
        unwinding: An exception is on its way: the next landing pad is where it goes on.
        arrival: Location of the jump or branch that led to the block.
        trail: Blocks walked, as (previous trail, block).
        path: In a replay, the conditions assumed, as (previous, condition).
        events: In a replay, what happened, as (previous, event).
        dropped: In a replay, the last reference to each object that went away.
    """

    __slots__ = (
        "_owned",
        "_shared",
        "alternatives",
        "arrival",
        "copied",
        "dropped",
        "env",
        "epoch",
        "events",
        "holders",
        "loops",
        "memory",
        "objects",
        "path",
        "pointed",
        "ranges",
        "thrown",
        "touched",
        "trail",
        "unwinding",
        "variables",
        "versions",
        "world",
        "zeroed",
    )

    def __init__(self) -> None:
        self.env: dict[int, Value] = {}
        self.memory: dict[int, Cells] = {}
        self.versions: dict[int, int] = {}
        self.zeroed: frozenset[int] = frozenset()
        self.holders: dict[tuple[int, Offset], int] = {}
        self.variables: dict[int, int] = {}
        self.objects: dict[int, str] = {}
        self.ranges: dict[int, Range] = {}
        self.alternatives: tuple[Known, ...] = ()
        self.pointed: frozenset[int] = frozenset()
        self.epoch = 0
        self.loops: tuple[LoopRound, ...] = ()
        self.world = 0
        self.touched: frozenset[str] = frozenset()
        self.copied: frozenset[int] = frozenset()
        self.thrown: Value | None = None
        self.unwinding = False
        self.arrival = 0
        self.trail: Any = None
        self.path: Any = None
        self.events: Any = None
        self.dropped: dict[int, Any] = {}
        self._shared = 0
        self._owned: set[int] = set()

    def copy(self) -> "State":
        """An independent state; both share tables until one writes."""
        other = State.__new__(State)
        other.env = self.env.copy()
        other.memory = self.memory
        other.versions = self.versions
        other.zeroed = self.zeroed
        other.holders = self.holders
        other.variables = self.variables
        other.objects = self.objects
        other.ranges = self.ranges
        other.alternatives = self.alternatives
        other.pointed = self.pointed
        other.epoch = self.epoch
        other.loops = self.loops
        other.world = self.world
        other.touched = self.touched
        other.copied = self.copied
        other.thrown = self.thrown
        other.unwinding = self.unwinding
        other.arrival = self.arrival
        other.trail = self.trail
        other.path = self.path
        other.events = self.events
        other.dropped = self.dropped
        other._shared = self._shared = _ALL  # noqa: SLF001  # a copy of this class
        other._owned = set()  # noqa: SLF001  # a copy of this class
        self._owned = set()
        return other

    def writable_memory(self) -> dict[int, Cells]:
        """The table of objects' cells; the cells themselves may still be shared."""
        if self._shared & _MEMORY:
            self.memory = self.memory.copy()
            self.versions = self.versions.copy()
            self._shared &= ~_MEMORY
        return self.memory

    def writable_cells(self, base: int) -> Cells:
        """The cells of one object, to be changed."""
        memory = self.writable_memory()
        cells = memory.get(base)
        if cells is None:
            cells = memory[base] = {}
        elif base not in self._owned:
            cells = memory[base] = cells.copy()
        self._owned.add(base)
        return cells

    def writable_ranges(self) -> dict[int, Range]:
        """The ranges, to be changed."""
        if self._shared & _RANGES:
            self.ranges = self.ranges.copy()
            self._shared &= ~_RANGES
        return self.ranges

    def replace_ranges(self, ranges: dict[int, Range]) -> None:
        """Take a table of ranges that nobody else holds."""
        self.ranges = ranges
        self._shared &= ~_RANGES

    def writable_objects(self) -> dict[int, str]:
        """The lives of objects, to be changed."""
        if self._shared & _OBJECTS:
            self.objects = self.objects.copy()
            self._shared &= ~_OBJECTS
        return self.objects

    def writable_holders(self) -> dict[tuple[int, Offset], int]:
        """The places that point to objects, to be changed."""
        if self._shared & _HOLDERS:
            self.holders = self.holders.copy()
            self._shared &= ~_HOLDERS
        return self.holders

    def writable_variables(self) -> dict[int, int]:
        """The variables that hold objects, to be changed."""
        if self._shared & _VARIABLES:
            self.variables = self.variables.copy()
            self._shared &= ~_VARIABLES
        return self.variables

    def writable_dropped(self) -> dict[int, Any]:
        """The references that went away, to be changed."""
        if self._shared & _FACTS:
            self.dropped = self.dropped.copy()
            self._shared &= ~_FACTS
        return self.dropped

    def owns_allocated(self) -> bool:
        """Whether some object is still tracked as allocated."""
        return ALLOCATED in self.objects.values()
