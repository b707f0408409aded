"""Where and why the last reference to the blocks of a group went, with all evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.hints import Hints
from leakline.dynamic.merge import GroupKey
from leakline.dynamic.own_references import is_own_reference
from leakline.dynamic.refined import Refinement, why_not
from leakline.dynamic.sites import loss_at_site
from leakline.dynamic.slots import (
    one_name,
    slot_in_first_frame,
    slot_in_freed,
    slot_of_store,
    thread_variable,
)
from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.thread_ends import first_function, program_function
from leakline.dynamic.traces import Trace, TraceKey
from leakline.model.finding import Cause, Loss, PathStep, Precision
from leakline.model.stack import Stack
from leakline.recording._format import Cause as LossCause
from leakline.recording._format import Node, Refined
from leakline.symbols.resolve import Address

_CAUSES = {
    LossCause.OVERWRITTEN: Cause.OVERWRITTEN,
    LossCause.CONTAINER_FREED: Cause.CONTAINER_FREED,
    LossCause.UNMAPPED: Cause.UNMAPPED,
    LossCause.THREAD_EXIT: Cause.THREAD_EXIT,
    LossCause.THREAD_VARIABLE: Cause.THREAD_EXIT,
}
_JUMPED_OVER = (
    "a function that did not return, since longjmp left it, held the block last: one of "
    "those that the call stack of the jump shows"
)
# Of blocks that one call lost from many slots, so many of those are named.
_SLOTS_NAMED = 32
_UNSEEN = "no store that was seen overwrote a reference to it"
_CONCLUDED = (
    f"{_UNSEEN}; what is said of the variable is concluded from the code, not seen"
)

_UNKNOWN = (
    f"{_UNSEEN}: probably a local variable or register held it, which went out of scope,"
    " or nobody kept the result"
)

_OF_SUCH_A_THREAD = (
    "a library began the thread that ended; the function is that of the thread which "
    "allocated the block"
)

# The second run met no later holder of such blocks, or followed them in vain.
_LEFT_AS_IT_IS = (Refined.HELD, Refined.GIVEN_UP)


class Explained(NamedTuple):
    """What is known about a loss.

    Attributes:
        loss: None when losses were not watched.
        path: The lines passed on the way there.
        notes: Sentences about it.
        birth: Where the variable that held the block last got it.
    """

    loss: Loss | None
    path: tuple[PathStep, ...] = ()
    notes: tuple[str, ...] = ()
    birth: Stack | None = None


@dataclass(slots=True)
class Losses:
    """Explains the losses of groups.

    Attributes:
        traces: What a second run saw.
    """

    builder: StackBuilder
    traces: Mapping[TraceKey, Trace]
    _hints: Hints = field(init=False)
    _refinement: Refinement = field(init=False)

    def __post_init__(self) -> None:
        """Both ways to explain share what they read of the modules."""
        self._hints = Hints(self.builder)
        self._refinement = Refinement(self._hints.reader, self._hints.lines)

    @property
    def reader(self) -> CodeReader:
        """What was read of the modules."""
        return self._hints.reader

    def explain_all(self, keys: Sequence[GroupKey], birth: int = 0) -> Explained:
        """The loss of several groups that read the same.

        That of the first is shown, or of the first one that a second run saw.
        """
        keys = sorted(keys, key=lambda key: not self._is_seen(key))
        first = self.explain(keys[0], birth)
        if len(keys) == 1 or first.loss is None:
            return first
        ways = [(_CAUSES.get(key.cause), key.loss) for key in keys]
        names = []
        if first.loss.cause is ways[0][0]:
            alike = [key for key, way in zip(keys, ways, strict=True) if way == ways[0]]
            names = [self._slot(key) for key in alike[1:_SLOTS_NAMED]]
        slot, others = one_name([first.loss.slot, *names])
        notes = list(first.notes)
        if others:
            notes.append(f"Some of these blocks were held by {others}.")
        if len(set(ways)) > 1:
            notes.append(f"One of {len(set(ways))} call stacks of the loss is shown.")
        return first._replace(loss=replace(first.loss, slot=slot), notes=tuple(notes))

    def _is_seen(self, key: GroupKey) -> bool:
        loss = 0 if key.cause is LossCause.NOT_IN_MEMORY else key.loss
        trace = self.traces.get(TraceKey(key.stack, loss))
        return trace is not None and trace.outcome is Refined.LOST

    def explain(self, key: GroupKey, birth: int = 0) -> Explained:
        """The loss of a group's blocks.

        Args:
            key: What the blocks have in common.
            birth: Number of the call stack that created the lost reference, 0 if it is
                not known; it may name the slot where the loss does not.
        """
        if key.cause == LossCause.NOT_IN_MEMORY:
            return self._without_store(key)
        if key.cause == LossCause.SITE:
            return Explained(loss_at_site(key.loss, self.builder))
        if key.cause == LossCause.JUMPED_OVER:
            return self._jumped_over(key)
        return self._in_memory(key, birth)

    def _in_memory(self, key: GroupKey, birth: int) -> Explained:
        """The loss of a reference that a slot in memory held."""
        cause = _CAUSES.get(key.cause)
        if cause is None or not key.loss:
            return Explained(None)
        stack = self.builder.stack(key.loss)
        allocation = self.builder.stack(key.stack)
        if cause is Cause.OVERWRITTEN and is_own_reference(stack, allocation):
            return self._behind_own_reference(key)
        slot = self._slot(key) or self._stored_by(birth)
        if cause is Cause.THREAD_EXIT and self._is_function(key.loss):
            return self._at_thread_end(key, slot)
        return self._followed(key, Loss(cause, stack, slot))

    def _followed(self, key: GroupKey, in_memory: Loss) -> Explained:
        """What became of a block when memory had lost it, if a second run saw that."""
        trace = self.traces.get(TraceKey(key.stack, key.loss))
        if trace is None or trace.outcome in _LEFT_AS_IT_IS:
            return Explained(in_memory)
        if trace.outcome is not Refined.LOST:
            notes = (why_not(trace),) if trace.in_second_run else ()
            return Explained(in_memory, notes=notes)
        refinement = self._refinement
        path = refinement.path_from(in_memory, trace)
        if trace.is_lost_at_once:
            return Explained(in_memory, path)
        stack = self.builder.stack(trace.loss)
        later = refinement.loss(trace, stack)
        if later is None or not refinement.is_held_by_variable(trace, later):
            return Explained(in_memory)
        birth = refinement.birth(trace, stack)
        return Explained(later, path, (_gone_before(in_memory),), birth)

    def _behind_own_reference(self, key: GroupKey) -> Explained:
        """What became of a block that lost a reference to itself, which says nothing."""
        trace = self.traces.get(TraceKey(key.stack, key.loss))
        if trace is not None and not trace.is_lost_at_once:
            stack = self.builder.stack(trace.loss)
            later = self._refinement.loss(trace, stack)
            if later is not None:
                birth = self._refinement.birth(trace, stack)
                return Explained(later, self._refinement.path(trace), birth=birth)
        return self._concluded(key, ())

    def _at_thread_end(self, key: GroupKey, slot: str | None) -> Explained:
        """The thread's first function is known, not where in it the thread ended."""
        stack = self.builder.stack(key.loss)
        likely = program_function(stack, self.builder.stack(key.stack))
        if likely is not None:
            loss = Loss(Cause.THREAD_EXIT, likely, slot, Precision.PROBABLE)
            return Explained(loss, notes=(_OF_SUCH_A_THREAD,))
        function = first_function(stack)
        return Explained(Loss(Cause.THREAD_EXIT, function, slot, Precision.FUNCTION))

    def _jumped_over(self, key: GroupKey) -> Explained:
        """Which frame held it, or in which register, is not known."""
        stack = self.builder.stack(key.loss)
        loss = Loss(Cause.OUT_OF_SCOPE, stack, precision=Precision.WINDOW)
        return Explained(loss, notes=(_JUMPED_OVER,))

    def _without_store(self, key: GroupKey) -> Explained:
        trace = self.traces.get(TraceKey(key.stack, 0))
        notes: tuple[str, ...] = ()
        if trace is not None:
            refinement = self._refinement
            stack = self.builder.stack(trace.loss)
            seen = refinement.loss(trace, stack)
            if seen is not None:
                named = self._with_variable(seen, key)
                birth = self._birth_seen(trace, named, key)
                return Explained(named, refinement.path(trace), birth=birth)
            notes = (why_not(trace),)
        guess = self._hints.loss(key.stack)
        if guess is not None and guess.precision is not Precision.PROBABLE:
            return Explained(guess, notes=notes)
        return self._concluded(key, notes)

    def _concluded(self, key: GroupKey, notes: tuple[str, ...]) -> Explained:
        """What the code lets one think, without proof."""
        guess = self._hints.loss(key.stack)
        if guess is None or guess.precision is not Precision.PROBABLE:
            unknown = Loss(Cause.OUT_OF_SCOPE, Stack(), precision=Precision.PROBABLE)
            return Explained(unknown, notes=(_UNKNOWN, *notes))
        birth = self._hints.birth(key.stack)
        return Explained(guess, notes=(_CONCLUDED, *notes), birth=birth)

    def _with_variable(self, seen: Loss, key: GroupKey) -> Loss:
        """Names what a trace leaves unnamed, if the code of the same function tells."""
        if seen.slot is not None or seen.cause is Cause.NEVER_STORED:
            return seen
        guess = self._hints.loss(key.stack)
        if guess is None or guess.stack.frames[0].function != _function(seen.stack):
            return seen
        return replace(seen, slot=guess.slot)

    def _birth_seen(self, trace: Trace, loss: Loss, key: GroupKey) -> Stack | None:
        """Where the variable that held the block last got it.

        Seen, or as the code has it where that leads to the same variable.
        """
        if loss.cause is Cause.NEVER_STORED:
            return None
        birth = self._refinement.birth(trace, self.builder.stack(trace.loss))
        guess = self._hints.loss(key.stack)
        if birth is not None or guess is None or guess.slot is None:
            return birth
        here = (guess.slot, guess.stack.frames[0].function)
        is_same = here == (loss.slot, loss.stack.frames[0].function)
        return self._hints.birth(key.stack) if is_same else None

    def _slot(self, key: GroupKey) -> str | None:
        """The slot that held the last reference in memory."""
        calls = self._places(key.loss)
        if not calls:
            return None
        match key.cause:
            case LossCause.OVERWRITTEN:
                return slot_of_store(self.reader, calls[0])
            case LossCause.CONTAINER_FREED:
                return slot_in_freed(self.reader, calls[0], key.loss_offset)
            case LossCause.THREAD_EXIT:
                return slot_in_first_frame(self.reader, calls, key.loss_offset)
            case LossCause.THREAD_VARIABLE:
                seen = [*calls, *self._places(key.stack)]
                return thread_variable(self.reader, seen, key.loss_offset)
            case _:
                return None

    def _is_function(self, stack: int) -> bool:
        """Whether a thread's function is known, but not where in it the thread ended."""
        calls = self.builder.calls(stack)
        return len(calls) == 1 and bool(calls[0].flags & Node.EXACT_PC)

    def _stored_by(self, stack: int) -> str | None:
        """The slot that the innermost call of a stack stored to."""
        calls = self._places(stack) if stack else []
        return slot_of_store(self.reader, calls[0]) if calls else None

    def _places(self, stack: int) -> list[Address]:
        """The code of a stack's calls, innermost first; none if that is not known."""
        calls = self.builder.calls(stack)
        if not calls or not calls[0].address:
            return []
        addresses = self.builder.table.addresses
        return [addresses[call.address] for call in calls if call.address]


def _function(stack: Stack) -> str:
    """The innermost function of a stack that is not inlined."""
    return next((one.function for one in stack.frames if not one.inlined), "")


def _gone_before(loss: Loss) -> str:
    """A sentence about a loss in memory that another one followed."""
    slot = f" (`{loss.slot}`)" if loss.slot else ""
    function = _function(loss.stack)
    place = f" in `{function}`" if function else ""
    return (
        f"the last reference in memory had gone before, {loss.cause.value}{slot}{place}"
    )
