"""Confirmed defects, with all that a finding will say about them."""

from dataclasses import dataclass

from leakline.model.finding import Cause, Fate, Kind
from leakline.static.engine.summary import Allocation, Place


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the path that leads to a defect."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Ending:
    """Where and why the last reference to an object went.

    Attributes:
        is_global: A global variable held it.
        is_by_callee: A function that was called overwrote it.
    """

    cause: Cause
    place: Place
    slot: str | None
    is_global: bool
    is_by_callee: bool


@dataclass(frozen=True, slots=True)
class Handing:
    """A call that was given the object; see `leakline.model.finding.Handover`."""

    place: Place
    callee: str
    fate: Fate
    otherwise: Fate | None


@dataclass(frozen=True, slots=True)
class OtherPaths:
    """What other paths than the one that loses an object do with such objects.

    Attributes:
        on_every_path: Every way from the allocation out of the function passes the
            place where the object is lost.
        released: Where they release it and may still come to that place.
    """

    on_every_path: bool = False
    released: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Partners:
    """A function that hands out objects, and one that such an object was given to.

    Attributes:
        maker: Id of a function of the program.
        partner: Id of the function that released the object, or the family of the
            library function that did.
    """

    maker: str
    partner: str


@dataclass(frozen=True, slots=True)
class Defect:
    """One confirmed defect of one function.

    Attributes:
        identity: Names it among all defects of the program.
        function: Id of the function.
        allocation: How the object came to be; None when a caller passed it.
        steps: The path.
        ending: For leaks.
        holder: Name of a variable that holds the object; empty when unknown.
        when: Conditions on what callers pass, in words.
        manifest: It does not depend on what callers pass.
        handings: Calls that were given the object on the way.
        other_paths: None when a caller passed the object.
    """

    identity: str
    kind: Kind
    function: str
    place: Place
    allocation: Allocation | None
    steps: tuple[Step, ...]
    ending: Ending | None
    holder: str
    when: tuple[str, ...]
    manifest: bool
    handings: tuple[Handing, ...]
    other_paths: OtherPaths | None


@dataclass(frozen=True, slots=True)
class Brought:
    """A call that brings about a defect of the function it calls.

    Attributes:
        identity: The callee's defect.
        steps: The path to the call.
        manifest: It does not depend on what this function's callers pass.
    """

    identity: str
    function: str
    steps: tuple[Step, ...]
    manifest: bool
