"""What a function does, as its callers need to know it.

A summary is a list of disjuncts. Each says: when this holds at entry, the function
frees, keeps, allocates and writes these, and returns that. Values are named by what
the caller can see: its arguments, globals, and memory reached from them.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from leakline.static.engine.ranges import Range

# A name that means the same to caller and callee, as a nested tuple:
#   arg i, cell name offset, global id, code id: as in Terms, but with names for bases
#   heap n: the n-th object this disjunct allocates
#   new label: an unknown value
#   eq, slt, ult, not, bin, cast: expressions over named values
Name: TypeAlias = tuple[Any, ...]

# An offset that depends on an index is (constant, index value, scale in bytes).
NamedOffset: TypeAlias = int | tuple[int, "NamedValue", int]
# A number, or (name, offset).
NamedValue: TypeAlias = int | tuple[Name, NamedOffset]

# Tells the unknown values of a disjunct apart.
Label: TypeAlias = str | tuple[Any, ...]

# What must hold together at entry.
Conditions: TypeAlias = tuple[tuple[Name, Range], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a function: an index into the locations of its body.

    It stays right when the function moves, so summaries can be kept.
    """

    function: str
    location: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """How an object came to be.

    Attributes:
        places: The call of the allocator first, then the calls that led to it.
        allocator: Name of the library function.
        family: Which functions release it.
        size_bytes: Requested size, 0 when not known.
        zeroed: Its memory starts as zeros.
    """

    places: tuple[Place, ...]
    allocator: str
    family: str
    size_bytes: int = 0
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """Memory at (base, offset) holds the value afterwards.

    Attributes:
        if_there: Nothing is written where the base is null.
    """

    base: Name
    offset: int
    value: NamedValue
    size_bytes: int
    if_there: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Release:
    """The object is freed, by a function of this family, at this place."""

    value: NamedValue
    family: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Disjunct:
    """One behaviour.

    Attributes:
        alternatives: What holds at entry: one of these.
        allocations: Objects allocated and still alive, by number.
        kept: Of these, the ones something unseen also refers to.
        frees: Objects of the caller that are freed.
        escapes: Values of the caller that are kept where nobody can see.
        counted: Objects whose counter went down but which were not freed, with the
            name of the counter: another owner may remain.
        writes: Memory changed to a known value.
        copied: Objects whose contents were copied where nobody can see.
        overwritten: Objects whose memory changed in an unknown way.
        unknown: What is known of the new unknown values.
        result: The returned value, None for none.
        throws: The function ends by an exception of this type, or of one that is not
            known (`new exception`); None when it returns.
        changes_world: Unknown code ran that may have changed any global.
        touched: Ids of globals changed in ways that are left out here.
        pointed: Arguments that memory was read or written through: they are not null.
        joined: Several behaviours became this one: what escapes, is copied or is
            overwritten need not do so in all of them.
    """

    alternatives: tuple[Conditions, ...] = ((),)
    allocations: tuple[Allocation, ...] = ()
    kept: frozenset[int] = frozenset()
    frees: tuple[Release, ...] = ()
    escapes: tuple[NamedValue, ...] = ()
    counted: tuple[tuple[NamedValue, Name], ...] = ()
    writes: tuple[Write, ...] = ()
    copied: frozenset[Name] = frozenset()
    overwritten: tuple[Name, ...] = ()
    unknown: tuple[tuple[Label, Range], ...] = ()
    result: NamedValue | None = None
    throws: Name | None = None
    changes_world: bool = False
    touched: frozenset[str] = frozenset()
    pointed: frozenset[int] = frozenset()
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Latent:
    """A confirmed defect that only some callers bring about.

    Attributes:
        identity: Names the defect among all of the program.
        conditions: What a caller must make true at entry.
    """

    identity: str
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Summary:
    """All behaviours of one function.

    Attributes:
        function: Its symbol.
        display: Its name for people.
        known: False when it could not be analysed; callers then expect anything.
        disjuncts: Empty when it never returns.
        latent: Defects that wait for a caller.
    """

    function: str
    display: str
    disjuncts: tuple[Disjunct, ...] = ()
    latent: tuple[Latent, ...] = ()
    known: bool = True
    parameters: tuple[str, ...] = field(default=())
