"""Makes the plan for one module: which stores jump where."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import pack

from leakline.patching.eviction import evictable, moved_code
from leakline.patching.placement import JUMP_LENGTH, PAGE, Space, window
from leakline.patching.stores import Store
from leakline.patching.trampolines import Trampoline, trampoline

# A segment prefix, which jumps ignore.
_PREFIX = b"\x26"
# What a patched instruction begins with.
_TAKEN_BEGINNINGS = (0xE9, _PREFIX[0])


@dataclass(frozen=True, slots=True)
class Patch:
    """One rewritten instruction.

    Attributes:
        address: Link-time address.
        page: Address of the trampoline's page.
        original: Bytes as in the file, the following ones of a pun included.
        replacement: What is written, at most the instruction's length.
        jump_at: Prefixes in the replacement before the jump.
        is_store: False for a neighbour that only makes room.
    """

    address: int
    page: int
    original: bytes
    replacement: bytes
    jump_at: int
    is_store: bool


@dataclass(slots=True)
class Page:
    """The trampolines of one page.

    Attributes:
        pieces: Offset and code of each.
        taken: One bit per byte that holds code.
        locks: Offsets of prefix bytes that become `lock` once there are two threads.
    """

    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    taken: int = 0
    locks: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the runtime needs to patch one module.

    Attributes:
        build_id: Of the module.
        pages: Trampolines by page address.
        patches: In descending order of address.
        stores: Number of stores seen.
        left_out: Number of stores left alone, by reason.
    """

    build_id: bytes
    pages: dict[int, Page]
    patches: list[Patch]
    stores: int
    left_out: Counter[str]


class Planner:
    """Places trampolines for the stores of one module, from high addresses to low.

    A pun's last bytes are those that follow the instruction *after* patching, so what
    follows must be settled first.
    """

    def __init__(
        self, code: bytes, base: int, space: Space, left_out: Counter[str]
    ) -> None:
        self._original = code
        self._code = bytearray(code)
        self._base = base
        self._space = space
        self._pages: dict[int, Page] = {}
        self._patches: list[Patch] = []
        self._left_out = left_out

    def plan(self, stores: Iterable[Store], build_id: bytes) -> Plan:
        """Return the plan for stores in ascending order of address."""
        descending = list(stores)[::-1]
        seen = len(descending) + sum(self._left_out.values())
        for store in descending:
            self._place(store)
        return Plan(build_id, self._pages, self._patches, seen, +self._left_out)

    def _place(self, store: Store) -> None:
        # The size does not depend on the place.
        size = len(trampoline(store, store.address & -PAGE).code)
        entry = self._entry(store.address, len(store.code), size)
        if entry is None:
            entry = self._entry_beside_evicted(store, size)
        if entry is None:
            self._left_out["no room"] += 1
            return
        try:
            finished = trampoline(store, entry.place)
        except OverflowError:
            self._left_out["operand out of reach"] += 1
            return
        self._write(store.address, len(store.code), entry, finished)

    def _entry(self, address: int, length: int, size: int) -> "_Entry | None":
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
        start = address - self._base
        for prefixes in range(length):
            free = length - prefixes
            end = start + prefixes + JUMP_LENGTH
            if end > len(self._code):
                return
            following = bytes(self._code[start + length : end])
            yield window(address + prefixes, free, following)

    def _entry_beside_evicted(self, store: Store, size: int) -> "_Entry | None":
        """Move the next instruction elsewhere, so that other bytes follow the store."""
        address = store.address + len(store.code)
        if self._code[address - self._base] in _TAKEN_BEGINNINGS:
            return None
        neighbour = evictable(self._original, self._base, address, store.limit)
        if neighbour is None:
            return None
        moved_size = len(neighbour) + JUMP_LENGTH
        moved = self._entry(address, len(neighbour), moved_size)
        if moved is None:
            return None
        before = bytes(self._code)[address - self._base :][: len(neighbour)]
        self._overwrite(address, self._replacement(address, len(neighbour), moved))
        entry = self._entry(store.address, len(store.code), size)
        if entry is None:
            self._overwrite(address, before)
            self._space.give_back(moved.place, moved_size)
            return None
        code = moved_code(neighbour, address, moved.place)
        self._write(address, len(neighbour), moved, code, is_store=False)
        return entry

    def _replacement(self, address: int, length: int, entry: "_Entry") -> bytes:
        distance = entry.place - (address + entry.prefixes + JUMP_LENGTH)
        jump = _PREFIX * entry.prefixes + b"\xe9" + pack("<i", distance)
        return jump[:length]

    def _overwrite(self, address: int, code: bytes) -> None:
        start = address - self._base
        self._code[start : start + len(code)] = code

    def _write(
        self,
        address: int,
        length: int,
        entry: "_Entry",
        code: Trampoline,
        *,
        is_store: bool = True,
    ) -> None:
        offset = entry.place % PAGE
        page = self._pages.setdefault(entry.place - offset, Page())
        page.pieces.append((offset, code.code))
        page.taken |= ((1 << len(code.code)) - 1) << offset
        page.locks += [offset + lock for lock in code.locks]
        start = address - self._base
        checked = max(length, entry.prefixes + JUMP_LENGTH)
        replacement = self._replacement(address, length, entry)
        self._patches.append(
            Patch(
                address,
                entry.place - offset,
                self._original[start : start + checked],
                replacement,
                entry.prefixes,
                is_store,
            )
        )
        self._overwrite(address, replacement)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a jump leads, and how many prefixes stand before it."""

    place: int
    prefixes: int
