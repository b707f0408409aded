"""Stacks as reports show them: named frames, without the allocator's own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from leakline.dynamic.stack_table import Call, StackTable
from leakline.model.stack import Frame, Naming, Stack
from leakline.recording._format import Node, Stop
from leakline.symbols.resolve import Address

OPERATOR_NEW = re.compile(r"operator new(\[\])?\(|_Zn[wa][mj]")
CXX_RUNTIME = re.compile(r"lib(std)?c\+\+(abi)?\.so")
RUNTIME_NAME = "libleakline.so"

STOPPED = {
    Stop.NO_UNWIND_TABLE: "the caller has no unwind table",
    Stop.EXPRESSION: "the caller's unwind rule is an expression that is not evaluated",
    Stop.OUTSIDE_STACK: "the next frame would lie outside the thread's stack",
    Stop.DEPTH: "the stack is deeper than it is walked",
}


@dataclass(slots=True)
class StackBuilder:
    """Makes stacks of a table; each is made once."""

    table: StackTable
    frames: Mapping[Address, tuple[Frame, ...]]
    _made: dict[int, Stack] = field(default_factory=dict)

    def stack(self, number: int) -> Stack:
        """The stack of a number of the table."""
        stack = self._made.get(number)
        if stack is None:
            stack = self._made[number] = self._build(self.table.path(number))
        return stack

    def _build(self, calls: Sequence[Call]) -> Stack:
        frames: list[Frame] = []
        folded_at = None
        stopped = ""
        for call in calls:
            if call.address is not None:
                frames += self.frames[call.address]
            if call.flags & Node.FOLDED:
                folded_at = len(frames)
            if call.flags & Node.STOPPED:
                stopped = stop_reason(call.reason)
        own = _allocator_frames(frames)
        if folded_at is not None:
            folded_at = max(0, folded_at - own)
        return Stack(tuple(frames[own:]), folded_at, stopped)


def stop_reason(reason: int) -> str:
    """Why a walk stopped, in words."""
    return STOPPED.get(Stop(reason), "") if reason in set(Stop) else "unknown reason"


def _allocator_frames(frames: Sequence[Frame]) -> int:
    """How many innermost frames belong to the allocator; never all of them."""
    count = 0
    while count < len(frames) - 1 and _is_allocator(frames[count]):
        count += 1
    return count


def _is_allocator(frame: Frame) -> bool:
    module = PurePosixPath(frame.module).name
    if module == RUNTIME_NAME:
        return True
    if frame.naming is Naming.NEAREST or not CXX_RUNTIME.match(module):
        return False
    return OPERATOR_NEW.match(frame.function) is not None
