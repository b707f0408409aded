"""Merges stacks that differ in addresses only.

A compiler copies code (unrolled loops, specialised functions), and a program may be
rebuilt between two processes of a run. What a reader sees as one stack, the same
functions and lines, is one finding.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from leakline.dynamic.merge import GroupKey, Groups, group_at
from leakline.dynamic.stack_table import Call, StackTable
from leakline.model.stack import Frame
from leakline.recording._format import Node

# A frame as it is read; a frame without a line is told apart by its address.
Shown = tuple[str, str, int, str, int]


@dataclass(slots=True)
class SameLines:
    """Finds for each stack the first one that reads the same."""

    table: StackTable
    frames: Mapping[int, tuple[Frame, ...]]
    _first: dict[int, int] = field(default_factory=lambda: {0: 0})
    _known: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    _tokens: dict[int, int] = field(default_factory=dict)
    _shown: dict[tuple[Shown, ...], int] = field(default_factory=dict)

    def first(self, number: int) -> int:
        """The number of the first stack with the same functions and lines."""
        pending = []
        while number not in self._first:
            pending.append(number)
            number = self.table.calls[number].parent
        for one in reversed(pending):
            call = self.table.calls[one]
            parent = self._first[call.parent]
            key = (parent, self._token(call), call.flags, call.reason)
            self._first[one] = self._known.setdefault(key, one)
        return self._first[pending[0]] if pending else self._first[number]

    def _token(self, call: Call) -> int:
        address = call.address
        if call.flags & Node.SITE:
            return -address  # sites on one line lose what different variables held
        token = self._tokens.get(address)
        if token is None:
            frames = self.frames[address] if address else ()
            shown = tuple(map(_shown, frames))
            token = self._shown.setdefault(shown, len(self._shown))
            self._tokens[address] = token
        return token


def _shown(frame: Frame) -> Shown:
    place = 0 if frame.line else frame.offset
    return frame.function, frame.file, frame.line, frame.module, place


def merge_same_lines(
    groups: Groups, keys: Iterable[GroupKey], same: SameLines
) -> Groups:
    """The groups of some keys, those that read the same added up."""
    merged: Groups = {}
    for key in keys:
        new_key = key._replace(
            stack=same.first(key.stack),
            leader=same.first(key.leader),
            loss=same.first(key.loss),
        )
        group_at(merged, new_key).add(groups[key])
    return merged
