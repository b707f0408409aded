"""Stable names of findings.

The same leak keeps its name after lines moved, after a rebuild that inlined other calls,
and under address randomisation: a name is made of the kind and of each call's plain
function name, file name and module name. What lies between two visits of the same call counts once, so that the
depth of a recursion does not matter.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from leakline.dynamic.merge import GroupKey
from leakline.dynamic.plain_names import plain_name
from leakline.dynamic.stacks import StackBuilder
from leakline.model.stack import Frame

LENGTH_BYTES = 8

# A frame's line, else its offset, and its full name.
Place = tuple[int, int, str]
# The places of a stack, to tell leaks of functions that are named alike apart.
Places = tuple[Place, ...]


class Fingerprints:
    """Names groups by the stacks that a builder makes of them."""

    def __init__(self, builder: StackBuilder) -> None:
        self._builder = builder
        self._identities = {
            address: _identity(frames) for address, frames in builder.frames.items()
        }

    def name_all(self, keys: Sequence[GroupKey]) -> list[str]:
        """A name for each group; groups that differ in lines only are numbered."""
        names = [self._name(key) for key in keys]
        alike: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            alike.setdefault(name, []).append(index)
        for indexes in alike.values():
            if len(indexes) > 1:
                places = [self._places(keys[index]) for index in indexes]
                order = {place: rank for rank, place in enumerate(sorted(set(places)))}
                for index, place in zip(indexes, places, strict=True):
                    if order[place]:
                        names[index] += f"-{order[place] + 1}"
        return names

    def _name(self, key: GroupKey) -> str:
        digest = blake2b(key.kind.value.encode(), digest_size=LENGTH_BYTES)
        identities = self._identities
        for stack in (key.stack, key.leader):
            addresses = self._addresses(stack)
            digest.update(b"\1" + b"".join([identities[one] for one in addresses]))
        return digest.hexdigest()

    def _places(self, key: GroupKey) -> Places:
        frames = self._builder.frames
        places = [
            _place(frame)
            for stack in (key.stack, key.leader)
            for address in self._addresses(stack)
            for frame in frames[address]
        ]
        lost = [
            (frame.line, frame.offset, frame.function)
            for address in self._addresses(key.loss)[:1]
            for frame in frames[address]
        ]
        return (*places, *lost)

    def _addresses(self, stack: int) -> list[int]:
        """The addresses of a stack, a recursion taken once."""
        calls = self._builder.calls(stack) if stack else []
        addresses = [call.address for call in calls if call.address]
        identities = [self._identities[one] for one in addresses]
        if len(set(identities)) == len(identities):
            return addresses
        kept: list[int] = []
        positions: dict[bytes, int] = {}
        for address, identity in zip(addresses, identities, strict=True):
            position = positions.get(identity)
            if position is None:
                positions[identity] = len(kept)
                kept.append(address)
                continue
            for dropped in kept[position + 1 :]:
                del positions[self._identities[dropped]]
            del kept[position + 1 :]
        return kept


def _identity(frames: Iterable[Frame]) -> bytes:
    """One digest after the other: it does not matter which frames share an address."""
    return b"".join(map(_frame_identity, frames))


def _frame_identity(frame: Frame) -> bytes:
    parts = (plain_name(frame.function), _last(frame.file), _last(frame.module))
    text = "\2".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=LENGTH_BYTES).digest()


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _place(frame: Frame) -> Place:
    line, offset = (frame.line, 0) if frame.line else (0, frame.offset)
    return line, offset, frame.function
