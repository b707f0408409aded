"""Finds a way for stores whose own bytes allow no jump that leads anywhere.

The store becomes a short jump to the inside of a *host*, an instruction behind it that
is moved elsewhere: the host's bytes then hold two jumps that overlap, one at its start
for itself and one further on for the store.

    host:    e9 .. .. e9 s0 s1 ..      the host's jump; its distance ends in e9 s0
    inside:           e9 s0 s1 .. ..   the store's jump; the last bytes may be those
                                       of what follows the host
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leakline.patching.eviction import Plain, evictable
from leakline.patching.placement import JUMP_LENGTH, SHORT_JUMP_LENGTH, Space, window
from leakline.patching.plan import Plan
from leakline.patching.stores import Store

_SHORT_REACH = 127
_JUMP = 0xE9
_DISTANCE_BYTES = 4
# A patch keeps so many bytes of the original.
_LONGEST_HOST = 13
# Places to try for the store's trampoline in one window: each gives the host's jump
# another direction.
_TRIES = 16


@dataclass(frozen=True, slots=True)
class Detour:
    """Two jumps in the bytes of one host.

    Attributes:
        host: The instruction that gives way.
        inside: Offset in it of the store's jump.
        store_place: Where that leads.
        host_place: Where the host's own jump leads.
        replacement: The new bytes of the host.
    """

    host: Plain
    inside: int
    store_place: int
    host_place: int
    replacement: bytes


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of the trampolines of a store and of its host."""

    store: int
    host: int


class Detours:
    """Looks for detours while a module is planned from high addresses to low.

    Attributes:
        relied_on: One byte per byte of code, not 0 where a jump relies on it.
    """

    def __init__(self, plan: Plan, space: Space, relied_on: bytearray) -> None:
        self._plan = plan
        self._space = space
        self.relied_on = relied_on

    def find(self, store: Store, store_size: int) -> Detour | None:
        """Return a detour with room for both trampolines, or None."""
        for host in self._hosts(store):
            # A host's trampoline is the host and a jump.
            sizes = Sizes(store_size, len(host.code) + JUMP_LENGTH)
            nearest = store.address + SHORT_JUMP_LENGTH
            for inside in range(1, len(host.code)):
                if host.address + inside - nearest <= _SHORT_REACH:
                    detour = self._through(host, inside, sizes)
                    if detour is not None:
                        return detour
        return None

    def _hosts(self, store: Store) -> Iterator[Plain]:
        """Yield instructions behind a store that may be changed."""
        address = store.address + len(store.code)
        last = store.address + SHORT_JUMP_LENGTH + _SHORT_REACH
        while address < last:
            length = self._plan.length_at(address, store.limit)
            if length == 0:
                return
            if self._is_untouched(address, length):
                host = evictable(
                    self._plan.original, self._plan.base, address, store.limit
                )
                if host is not None and length <= _LONGEST_HOST:
                    yield host
            address += length

    def _is_untouched(self, address: int, length: int) -> bool:
        start = address - self._plan.base
        original = self._plan.original_at(address, length)
        return self._plan.bytes_at(address, length) == original and not any(
            self.relied_on[start : start + length]
        )

    def _through(self, host: Plain, inside: int, sizes: Sizes) -> Detour | None:
        length = len(host.code)
        free = min(_DISTANCE_BYTES, length - 1 - inside)
        tail_length = _DISTANCE_BYTES - free
        tail = self._plan.bytes_at(host.address + length, tail_length)
        if len(tail) < tail_length:
            return None
        first, last = window(host.address + inside, free + 1, tail)
        step = max(1, (last - first + 1) // _TRIES)
        for start in range(first, last + 1, step):
            place = self._take(start, min(start + step - 1, last), sizes.store)
            if place is None:
                continue
            detour = self._with_store_at(host, inside, place, sizes)
            if detour is not None:
                return detour
            self._space.give_back(place, sizes.store)
        return None

    def _with_store_at(
        self, host: Plain, inside: int, place: int, sizes: Sizes
    ) -> Detour | None:
        code = bytearray(
            self._plan.bytes_at(host.address, len(host.code) + JUMP_LENGTH)
        )
        distance = place - (host.address + inside + JUMP_LENGTH)
        code[inside] = _JUMP
        code[inside + 1 : inside + JUMP_LENGTH] = distance.to_bytes(
            4, "little", signed=True
        )
        free = min(inside - 1, _DISTANCE_BYTES)
        first, last = window(
            host.address, free + 1, bytes(code[free + 1 : JUMP_LENGTH])
        )
        host_place = self._take(first, last, sizes.host)
        if host_place is None:
            return None
        distance = host_place - (host.address + JUMP_LENGTH)
        code[0] = _JUMP
        code[1:JUMP_LENGTH] = distance.to_bytes(4, "little", signed=True)
        changed = min(len(host.code), max(JUMP_LENGTH, inside + JUMP_LENGTH))
        return Detour(host, inside, place, host_place, bytes(code[:changed]))

    def _take(self, first: int, last: int, size: int) -> int | None:
        place = self._space.take_used(first, last, size)
        return place or self._space.take_window(first, last, size)
