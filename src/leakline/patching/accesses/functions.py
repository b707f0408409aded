"""Finds which code can be left alone until a function is entered.

A *part* is a range of code of the unwind tables: a function, or what the compiler moved
out of it. Parts that jump into each other's middle form a *unit*, which is armed as a
whole when one of its parts is entered for the first time. For that some bytes where a
part begins are a jump, its *entry*, which nobody needs after that. A unit that could be
entered unnoticed is *eager*: it is armed from the start.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from iced_x86 import Decoder, FlowControl

from leakline.patching.accesses.sites import Census
from leakline.patching.placement import JUMP_LENGTH
from leakline.symbols.unwind_tables import RSP, Function, Rule

CACHE_LINE = 64
_NEAR_START = 32  # bytes of a function among which its entry is sought
# How the unwind tables describe the stack where a function begins.
_AT_ENTRY = Rule(RSP, 8)


@dataclass(frozen=True, slots=True)
class Part:
    """One range of code.

    Attributes:
        start: Its first address.
        end: Behind its last one.
        entry: Address of the jump that tells that it is entered; None without one.
    """

    start: int
    end: int
    entry: int | None


@dataclass(frozen=True, slots=True)
class Unit:
    """Parts that are armed together."""

    parts: tuple[Part, ...]
    is_eager: bool


@dataclass(slots=True)
class _Classes:
    """Sets of numbers that were found to belong together."""

    parents: list[int] = field(default_factory=list)

    def root(self, number: int) -> int:
        while self.parents[number] != number:
            self.parents[number] = self.parents[self.parents[number]]
            number = self.parents[number]
        return number

    def join(self, one: int, other: int) -> None:
        self.parents[self.root(one)] = self.root(other)


class UnitFinder:
    """Finds the units of one module."""

    def __init__(self, code: bytes, base: int, census: Census) -> None:
        self._code = code
        self._base = base
        self._functions = census.functions
        self._starts = [function.start for function in self._functions]
        self._sites = {site.address for site in census.sites}
        self._inwards = [
            (source, there, target)
            for source, target in census.crossings
            if (there := self._number_of(target)) is not None
            and target != self._starts[there]
        ]
        self._inner_targets = {target for _, _, target in self._inwards}

    def units(self) -> list[Unit]:
        """Return the units that hold code, the eager ones first."""
        classes = _Classes(list(range(len(self._functions))))
        for source, there, _ in self._inwards:
            classes.join(source, there)
        members: dict[int, list[Function]] = {}
        for number, function in enumerate(self._functions):
            members.setdefault(classes.root(number), []).append(function)
        units = [self._unit(functions) for functions in members.values()]
        return sorted(units, key=lambda unit: not unit.is_eager)

    def _number_of(self, address: int) -> int | None:
        """Return the number of the function that an address lies in."""
        number = bisect_right(self._starts, address) - 1
        inside = number >= 0 and address < self._functions[number].end
        return number if inside else None

    def _unit(self, functions: list[Function]) -> Unit:
        """Tell whether a unit can be entered only where that is noticed.

        What was moved out of a function is entered from the rest of it, anywhere; its
        frame is there already.
        """
        entries = {
            one.start: self._entry(one)
            for one in functions
            if one.rule_at(one.start) == _AT_ENTRY
        }
        is_eager = not entries or None in entries.values()
        parts = (
            Part(one.start, one.end, None if is_eager else entries.get(one.start))
            for one in functions
        )
        return Unit(tuple(parts), is_eager)

    def _entry(self, function: Function) -> int | None:
        """Return the first place where a function begins that can be an entry.

        All ways into the function lead there, past no site. Other parts must not jump
        between its bytes. The function itself may: when it runs they are put back.
        """
        offset = function.start - self._base
        decoder = Decoder(
            64, self._code[offset : offset + _NEAR_START], ip=function.start
        )
        for instruction in decoder:
            address = instruction.ip
            if self._can_be_entry(address, function.end):
                return address
            if (
                address in self._sites
                or instruction.flow_control != FlowControl.NEXT
                or instruction.next_ip >= function.end
            ):
                return None
        return None

    def _can_be_entry(self, address: int, end: int) -> bool:
        """Tell whether one write within a cache line can put the bytes back."""
        between = range(address + 1, address + JUMP_LENGTH)
        return (
            address + JUMP_LENGTH <= end
            and address % CACHE_LINE <= CACHE_LINE - JUMP_LENGTH
            and self._inner_targets.isdisjoint(between)
        )
