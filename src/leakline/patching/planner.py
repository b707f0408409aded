"""Makes the plan for one module: which stores jump where."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from struct import pack
from typing import NamedTuple

from leakline.patching.assembler import Step
from leakline.patching.detours import Detours
from leakline.patching.eviction import evictable
from leakline.patching.groups import Group
from leakline.patching.placement import (
    JUMP_LENGTH,
    PAGE,
    SHORT_JUMP,
    SHORT_JUMP_LENGTH,
    Space,
    window,
)
from leakline.patching.plan import Patch, Plan
from leakline.patching.stores import Store
from leakline.patching.trampolines import parted_trampoline, trampoline

# A segment prefix, which jumps ignore.
_PREFIX = b"\x26"
# What a patched instruction begins with.
_TAKEN_BEGINNINGS = (b"\xe9", _PREFIX)

# Takes room between two addresses for so many bytes.
Take = Callable[[int, int, int], int | None]


class _Layout(Enum):
    """Where the part of a pun's trampoline for losses lies, the better way first."""

    APART = "where it takes no room that puns need"
    BEHIND = "behind the trampoline, for those too far from there"


class _Size(NamedTuple):
    """The room of a trampoline where the store leads, and apart from there."""

    near_bytes: int
    apart_bytes: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a jump leads, and how many prefixes stand before it."""

    place: int
    prefixes: int


class Planner:
    """Places trampolines for the stores of one module, from high addresses to low.

    A pun's last bytes are those that follow the instruction *after* patching, so what
    follows must be settled first.
    """

    def __init__(self, plan: Plan, space: Space) -> None:
        self._plan = plan
        self._space = space
        self._relied_on = bytearray(len(plan.code))
        self._detours = Detours(plan, space, self._relied_on)

    def place_all(self, groups: Iterable[Group]) -> None:
        """Plan the patches of groups in ascending order of address."""
        for group in list(groups)[::-1]:
            with self._space.only_below():
                placed = self._place_together(group, _Layout.APART)
            if not placed:
                self._place_apart(group)

    def _place_apart(self, group: Group) -> None:
        """Place the stores of a group, each by itself."""
        for single in reversed(list(group.alone())):
            if not self._place(single):
                self._plan.left_out["no room"] += 1

    def _place(self, single: Group) -> bool:
        """Place one store; False when no way was found.

        Libraries may lie at the very end of the address space, so no way to a place
        below is left untried before one leads above.
        """
        with self._space.only_below():
            if any(self._place_in(single, layout) for layout in _Layout):
                return True
        return any(self._place_in(single, layout) for layout in _Layout)

    def _place_in(self, single: Group, layout: _Layout) -> bool:
        return self._place_together(single, layout) or self._place_by_detour(
            single, layout
        )

    def _place_together(self, group: Group, layout: _Layout) -> bool:
        """Place one group; False when no way was found."""
        choices = [group.without_lead(n) for n in range(group.lead, -1, -1)]
        try:
            return self._place_anywhere(choices) or self._place_pun(choices, layout)
        except OverflowError:
            return False

    def _place_anywhere(self, choices: list[Group]) -> bool:
        """Use an instruction so long that its trampoline may lie anywhere."""
        for choice in choices:
            if choice.length >= JUMP_LENGTH:
                size = _size(choice, _Layout.BEHIND)
                place = self._space.take_anywhere(size.near_bytes)
                if place is not None:
                    self._write(choice, _Entry(place, 0), size.apart_bytes)
                    return True
        return False

    def _place_pun(self, choices: list[Group], layout: _Layout) -> bool:
        """Find an instruction whose jump can lead to where there is room."""
        size = _size(choices[0], layout)
        leads = _leads(choices[-1])
        sizes = list(accumulate(leads, initial=size.near_bytes))
        found = self._best_pun(choices, sizes)
        if found is None and choices[0].stores == 1:
            found = self._beside_evicted(choices[0], size.near_bytes)
        if found is not None:
            self._write(*found, size.apart_bytes)
        return found is not None

    def _place_by_detour(self, group: Group, layout: _Layout) -> bool:
        """Place a single store by way of an instruction behind it."""
        (store,) = group.steps
        try:
            size = _size(group, layout)
        except OverflowError:
            return False
        if not isinstance(store, Store):
            return False
        found = self._detours.find(store, size.near_bytes)
        if found is None:
            return False
        try:
            host = trampoline((found.host,), found.host_place)
            lost_place = self._add_trampoline(
                group, found.store_place, size.apart_bytes
            )
        except OverflowError:
            return False
        self._plan.add_trampoline(found.host_place, host, found.host_place)
        self._patch(found.host.address, found.replacement, found.host_place)
        distance = (
            found.host.address + found.inside - (group.address + SHORT_JUMP_LENGTH)
        )
        self._patch(
            group.address,
            bytes([SHORT_JUMP, distance]),
            found.store_place,
            lost_place=lost_place,
            stores=1,
        )
        self._rely_on(found.host.address, found.inside + JUMP_LENGTH)
        self._plan.moved += [_range_of(store), _range_of(found.host)]
        return True

    def _best_pun(
        self, choices: list[Group], sizes: list[int]
    ) -> "tuple[Group, _Entry] | None":
        """Return where to jump from, and where to, in pages that are there if possible."""
        for take in self._ways():
            for choice, size in zip(choices, sizes, strict=True):
                entry = self._pun(choice.address, choice.length, size, take)
                if entry is not None:
                    return choice, entry
        return None

    def _ways(self) -> tuple[Take, Take]:
        """Return the ways to take room for a pun, the best first."""
        return self._space.take_used, self._space.take_window

    def _pun(self, address: int, length: int, size: int, take: Take) -> _Entry | None:
        """Return a jump that fits into a short instruction, with room where it leads.

        Prefixes that mean nothing shift the jump, so that its distance ends in other
        bytes of what follows.
        """
        for prefixes, bounds in enumerate(self._windows(address, length)):
            place = take(*bounds, size)
            if place is not None:
                return _Entry(place, prefixes)
        return None

    def _entry(self, address: int, length: int, size: int) -> _Entry | None:
        """Return any jump that fits into an instruction, with room where it leads."""
        if length >= JUMP_LENGTH:
            place = self._space.take_anywhere(size)
            return None if place is None else _Entry(place, 0)
        entries = (self._pun(address, length, size, take) for take in self._ways())
        return next((entry for entry in entries if entry is not None), None)

    def _windows(self, address: int, length: int) -> Iterator[tuple[int, int]]:
        """Yield where a jump in a short instruction can lead, by number of prefixes."""
        for prefixes in range(length):
            missing = prefixes + JUMP_LENGTH - length
            following = self._plan.bytes_at(address + length, missing)
            if len(following) < missing:
                return
            yield window(address + prefixes, length - prefixes, following)

    def _beside_evicted(self, group: Group, size: int) -> "tuple[Group, _Entry] | None":
        """Move the next instruction elsewhere, so that other bytes follow the store."""
        (store,) = group.steps
        if not isinstance(store, Store):
            return None
        address = group.address + group.length
        start = address - self._plan.base
        if (
            self._plan.bytes_at(address, 1) in _TAKEN_BEGINNINGS
            or self._relied_on[start : start + 1] != b"\0"
        ):
            return None
        neighbour = evictable(
            self._plan.original, self._plan.base, address, store.limit
        )
        if neighbour is None:
            return None
        moved = Group((neighbour,), 0)
        moved_size = _size(moved, _Layout.APART).near_bytes
        moved_entry = self._entry(address, moved.length, moved_size)
        if moved_entry is None:
            return None
        before = self._plan.bytes_at(address, moved.length)
        self._plan.write(address, _jump(address, moved.length, moved_entry))
        entry = self._entry(group.address, group.length, size)
        self._plan.write(address, before)
        if entry is None:
            self._space.give_back(moved_entry.place, moved_size)
            return None
        self._write(moved, moved_entry, 0)
        return group, entry

    def _write(self, group: Group, entry: _Entry, apart_bytes: int) -> None:
        """Put the trampoline of a group in place, and the jump to it.

        Raises:
            OverflowError: The place is too far away for it; nothing is written.
        """
        lost_place = self._add_trampoline(group, entry.place, apart_bytes)
        self._plan.moved += map(_range_of, group.steps)
        replacement = _jump(group.address, group.length, entry)
        self._patch(
            group.address,
            replacement,
            entry.place,
            lost_place=lost_place,
            jump_at=entry.prefixes,
            stores=group.stores,
        )
        self._rely_on(group.address, entry.prefixes + JUMP_LENGTH)

    def _add_trampoline(self, group: Group, place: int, apart_bytes: int) -> int:
        """Put a trampoline in place; return where its part for losses is.

        Raises:
            OverflowError: The place is too far away; nothing is written.
        """
        if apart_bytes == 0:
            made = trampoline(group.steps, place)
            lost_place = place
        else:
            lost_place = self._space.take_for_losses(apart_bytes)
            try:
                made = parted_trampoline(group.steps, place, lost_place)
            except OverflowError:
                self._space.give_back(lost_place, apart_bytes)
                raise
        self._plan.add_trampoline(place, made, lost_place)
        return lost_place

    def _patch(  # noqa: PLR0913 - what is known of a patch
        self,
        address: int,
        replacement: bytes,
        place: int,
        *,
        lost_place: int | None = None,
        jump_at: int = 0,
        stores: int = 0,
    ) -> None:
        original = self._plan.original_at(address, len(replacement))
        page = place & -PAGE
        lost_page = page if lost_place is None else lost_place & -PAGE
        self._plan.patches.append(
            Patch(address, page, lost_page, original, replacement, jump_at, stores)
        )
        self._plan.write(address, replacement)

    def _rely_on(self, address: int, length: int) -> None:
        """Keep the bytes of a jump from being changed again."""
        start = address - self._plan.base
        self._relied_on[start : start + length] = b"\1" * length


def _range_of(step: Step) -> tuple[int, int]:
    return step.address, step.address + len(step.code)


def _leads(group: Group) -> list[int]:
    """Return by how much each leading step makes the trampoline longer."""
    return [len(step.code) for step in group.steps[: group.lead][::-1]]


def _size(group: Group, layout: _Layout) -> _Size:
    """Return the room that a trampoline takes, which does not depend on its place."""
    if layout is _Layout.BEHIND:
        return _Size(len(trampoline(group.steps, group.address).code), 0)
    made = parted_trampoline(group.steps, group.address, group.address)
    return _Size(len(made.code), len(made.lost))


def _jump(address: int, length: int, entry: _Entry) -> bytes:
    distance = entry.place - (address + entry.prefixes + JUMP_LENGTH)
    jump = _PREFIX * entry.prefixes + b"\xe9" + pack("<i", distance)
    return jump[:length]
