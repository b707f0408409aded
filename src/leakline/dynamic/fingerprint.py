"""Stable names of findings.

The same leak keeps its name after lines moved, after a rebuild, and under address
randomisation: a name is made of the kind and of each call's function, file name and
module name. What lies between two visits of the same function counts once, so that the
depth of a recursion does not matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from leakline.model.finding import Kind
from leakline.model.stack import Frame, Stack

LENGTH_BYTES = 8

# The lines of a stack, to tell leaks of the same functions apart.
Places = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Fingerprints:
    """Makes fingerprints of stacks that share their frames.

    Frames are known by object, not by value: stacks hold the same few frames again and
    again, and comparing them would take most of the time.
    """

    _identities: dict[int, bytes] = field(default_factory=dict)
    _frames: list[Frame] = field(default_factory=list)  # keeps the objects' ids taken

    def make(self, kind: Kind, stacks: Sequence[Stack | None]) -> tuple[str, Places]:
        """A finding's name as hexadecimal text, and its places."""
        digest = blake2b(kind.value.encode(), digest_size=LENGTH_BYTES)
        places: list[tuple[int, int]] = []
        for stack in stacks:
            digest.update(b"\1")
            if stack is not None:
                identities = [self._identity(frame) for frame in stack.frames]
                kept = _without_recursion(identities)
                digest.update(b"\0".join([identities[index] for index in kept]))
                places += [_place(stack.frames[index]) for index in kept]
        return digest.hexdigest(), tuple(places)

    def _identity(self, frame: Frame) -> bytes:
        identity = self._identities.get(id(frame))
        if identity is None:
            parts = (frame.function, _base_name(frame.file), _base_name(frame.module))
            text = "\2".join(parts).encode("utf-8", "surrogatepass")
            identity = blake2b(text, digest_size=LENGTH_BYTES).digest()
            self._identities[id(frame)] = identity
            self._frames.append(frame)
        return identity


def numbered(names: Iterable[tuple[str, Places]]) -> dict[tuple[str, Places], str]:
    """Tells equal names apart by the order of their lines: `x`, `x-2`, `x-3`."""
    result = {}
    last, count = "", 0
    for name, places in sorted(set(names)):
        count = count + 1 if name == last else 1
        last = name
        result[name, places] = name if count == 1 else f"{name}-{count}"
    return result


def _without_recursion(identities: list[bytes]) -> Sequence[int]:
    """Which calls stay, as indexes."""
    if len(set(identities)) == len(identities):
        return range(len(identities))
    kept: list[int] = []
    positions: dict[bytes, int] = {}
    for index, identity in enumerate(identities):
        position = positions.get(identity)
        if position is None:
            positions[identity] = len(kept)
            kept.append(index)
            continue
        for dropped in kept[position + 1 :]:
            del positions[identities[dropped]]
        del kept[position + 1 :]
    return kept


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _place(frame: Frame) -> tuple[int, int]:
    return (frame.line, 0) if frame.line else (0, frame.offset)
