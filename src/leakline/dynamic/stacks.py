"""Stacks as reports show them: named frames, without the allocator's own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from leakline.dynamic.stack_table import Call, StackTable
from leakline.model.stack import Frame, Naming, Stack
from leakline.recording._format import Node, Stop

OPERATOR_NEW = re.compile(r"operator new(\[\])?\(|_Zn[wa][mj]")
CXX_RUNTIME = re.compile(r"lib(std)?c\+\+(abi)?\.so")
LOADER = re.compile(r"ld-(linux|musl)")
SIGNAL_FRAME = "<signal handler called>"
MARKS = Node.FOLDED | Node.STOPPED

STOPPED = {
    Stop.NO_UNWIND_TABLE: "the caller has no unwind table",
    Stop.EXPRESSION: "the caller's unwind rule is an expression that is not evaluated",
    Stop.OUTSIDE_STACK: "the next frame would lie outside the thread's stack",
    Stop.DEPTH: "the stack is deeper than it is walked",
}


@dataclass(slots=True)
class StackBuilder:
    """Makes stacks of a table; each is made once.

    Attributes:
        frames: The frames of each address of the table, by its index.
    """

    table: StackTable
    frames: Mapping[int, tuple[Frame, ...]]
    _made: dict[int, Stack] = field(default_factory=dict)
    _calls: dict[int, list[Call]] = field(default_factory=dict)
    _allocators: dict[int, bool] = field(default_factory=dict)

    def calls(self, number: int) -> list[Call]:
        """The calls of a stack, innermost first, without the allocator's own."""
        calls = self._calls.get(number)
        if calls is None:
            calls = self.table.path(number)
            own = 0
            while own < len(calls) - 1 and self._is_allocator(calls[own].address):
                own += 1
            calls = self._calls[number] = calls[own:]
        return calls

    def stack(self, number: int) -> Stack:
        """The stack of a number of the table."""
        stack = self._made.get(number)
        if stack is None:
            stack = self._made[number] = self._build(self.calls(number))
        return stack

    def _build(self, calls: Sequence[Call]) -> Stack:
        frames: list[Frame] = []
        folded_at = None
        stopped = ""
        for call in calls:
            if call.address:
                frames += self.frames[call.address]
            if call.flags & MARKS:
                if call.flags & Node.FOLDED:
                    folded_at = len(frames)
                if call.flags & Node.STOPPED and not self._is_loader_entry(call):
                    stopped = stop_reason(call.reason)
        return Stack(tuple(frames), folded_at, stopped)

    def _is_loader_entry(self, call: Call) -> bool:
        """The dynamic loader's first code has no unwind table, and no caller."""
        module = self.table.addresses[call.address].module
        loader = LOADER.match(PurePosixPath(module.path).name)
        return call.reason == Stop.NO_UNWIND_TABLE and loader is not None

    def _is_allocator(self, address: int) -> bool:
        known = self._allocators.get(address)
        if known is None:
            known = bool(address) and _is_allocator(self.frames[address][-1])
            self._allocators[address] = known
        return known


def name_signal_frames(
    table: StackTable, frames: Mapping[int, tuple[Frame, ...]]
) -> dict[int, tuple[Frame, ...]]:
    """Name the code that signal handlers return to, which libc has no symbol for.

    The name is what debuggers show between a handler and the code it interrupted.
    """
    marked = {call.address for call in table.calls if call.flags & Node.SIGNAL}
    return {
        index: (_signal_frame(found[-1]),) if index in marked else found
        for index, found in frames.items()
    }


def _signal_frame(frame: Frame) -> Frame:
    return Frame(
        SIGNAL_FRAME, module=frame.module, offset=frame.offset, naming=Naming.SYMBOL
    )


def stop_reason(reason: int) -> str:
    """Why a walk stopped, in words."""
    return STOPPED.get(Stop(reason), "") if reason in set(Stop) else "unknown reason"


def _is_allocator(frame: Frame) -> bool:
    module = PurePosixPath(frame.module).name
    if frame.naming is Naming.NEAREST or not CXX_RUNTIME.match(module):
        return False
    return OPERATOR_NEW.match(frame.function) is not None
