"""Makes the plan for one module: which stores jump where."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import pack

from leakline.patching.eviction import evictable
from leakline.patching.placement import JUMP_LENGTH, PAGE, Space, window
from leakline.patching.plan import Patch, Plan
from leakline.patching.stores import Store
from leakline.patching.trampolines import Step, length_of, trampoline

# A segment prefix, which jumps ignore.
_PREFIX = b"\x26"
# What a patched instruction begins with.
_TAKEN_BEGINNINGS = (0xE9, _PREFIX[0])


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

    def place_all(self, stores: Iterable[Store]) -> None:
        """Plan the patches of stores in ascending order of address."""
        for store in list(stores)[::-1]:
            self._place(store)

    def _place(self, store: Store) -> None:
        steps = (store,)
        try:
            # The size does not depend on the place.
            size = len(trampoline(steps, store.address, store.address).code)
        except OverflowError:
            self._plan.left_out["unusual operand"] += 1
            return
        entry = self._entry(store.address, len(store.code), size)
        if entry is None:
            entry = self._entry_beside_evicted(store, size)
        if entry is None:
            self._plan.left_out["no room"] += 1
            return
        try:
            self._write(steps, store.address, entry)
        except OverflowError:
            self._plan.left_out["operand out of reach"] += 1

    def _entry(self, address: int, length: int, size: int) -> _Entry | None:
        """Return a jump that fits into an instruction, with room where it leads.

        Prefixes that mean nothing shift the jump, so that its distance ends in other
        bytes of what follows.
        """
        if length >= JUMP_LENGTH:
            place = self._space.take_anywhere(size)
            return None if place is None else _Entry(place, 0)
        windows = list(self._windows(address, length))
        for take in (self._space.take_used, self._space.take_window):
            for prefixes, bounds in enumerate(windows):
                place = take(*bounds, size)
                if place is not None:
                    return _Entry(place, prefixes)
        return None

    def _windows(self, address: int, length: int) -> Iterator[tuple[int, int]]:
        """Yield where a jump in a short instruction can lead, by number of prefixes."""
        for prefixes in range(length):
            missing = prefixes + JUMP_LENGTH - length
            following = self._plan.bytes_at(address + length, missing)
            if len(following) < missing:
                return
            yield window(address + prefixes, length - prefixes, following)

    def _entry_beside_evicted(self, store: Store, size: int) -> _Entry | None:
        """Move the next instruction elsewhere, so that other bytes follow the store."""
        address = store.address + len(store.code)
        base = self._plan.base
        if self._plan.bytes_at(address, 1)[0] in _TAKEN_BEGINNINGS:
            return None
        neighbour = evictable(self._plan.original, base, address, store.limit)
        if neighbour is None:
            return None
        moved_size = len(neighbour) + JUMP_LENGTH
        moved = self._entry(address, len(neighbour), moved_size)
        if moved is None:
            return None
        before = self._plan.bytes_at(address, len(neighbour))
        self._plan.write(address, _jump(address, len(neighbour), moved))
        entry = self._entry(store.address, len(store.code), size)
        self._plan.write(address, before)
        if entry is None:
            self._space.give_back(moved.place, moved_size)
            return None
        self._write((neighbour,), address, moved)
        return entry

    def _write(self, steps: tuple[Step, ...], address: int, entry: _Entry) -> None:
        """Put the trampoline of some steps in place, and the jump to it.

        Raises:
            OverflowError: The place is too far away for it; nothing is written.
        """
        page = entry.place & -PAGE
        made = trampoline(steps, address, entry.place)
        self._plan.add_trampoline(entry.place, made, page)
        replacement = _jump(address, length_of(steps[0]), entry)
        self._plan.patches.append(
            Patch(
                address,
                page,
                self._plan.original_at(address, len(replacement)),
                replacement,
                entry.prefixes,
                isinstance(steps[0], Store),
            )
        )
        self._plan.write(address, replacement)


def _jump(address: int, length: int, entry: _Entry) -> bytes:
    distance = entry.place - (address + entry.prefixes + JUMP_LENGTH)
    jump = _PREFIX * entry.prefixes + b"\xe9" + pack("<i", distance)
    return jump[:length]
