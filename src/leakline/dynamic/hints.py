"""Guesses which variable held a block that no store lost.

When a function returns, nothing is written, so no stamp tells that its variable held the
last reference. Here the code itself is read: from each return address of the allocation
stack on, the block's pointer is followed to the function that neither frees nor returns
it. That function and its callers are certain to have been active; which path was taken
is not known, so there is no line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.lines import Lines
from leakline.dynamic.plain_names import plain_name
from leakline.dynamic.pointer_origins import Origin, argument_at_call, stored_places
from leakline.dynamic.stack_table import Call, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.value_flow import Carrier, ValueFlow, follow
from leakline.model.finding import Cause, Loss, Precision
from leakline.model.stack import Frame, Stack
from leakline.recording._format import Node
from leakline.symbols.call_targets import CallTargets
from leakline.symbols.dwarf_registers import DWARF_REGISTERS
from leakline.symbols.locals import Local, Place
from leakline.symbols.machine_code import MachineCode
from leakline.symbols.resolve import Address


@dataclass(frozen=True, slots=True)
class _Held:
    """A function that may have dropped the block, at a depth of the stack.

    Attributes:
        stored_by: The function further in that stored it into this one's frame.
    """

    depth: int
    site: Address
    flow: ValueFlow
    stored_by: "_Held | None" = None


class _Places(NamedTuple):
    """What holds the block when a call returns.

    Attributes:
        in_result: The register for results.
        slots: Places in the frame of the function that called, from its CFA.
        behind: Places behind arguments: of the call, or of the function that called.
    """

    in_result: bool = False
    slots: frozenset[int] = frozenset()
    behind: frozenset[Origin] = frozenset()


_IN_RESULT = _Places(in_result=True)


@dataclass(slots=True)
class Hints:
    """Makes the losses of groups that no stamp explains."""

    builder: StackBuilder
    reader: CodeReader = field(default_factory=CodeReader)
    lines: Lines = field(default_factory=Lines)
    _flows: dict[tuple[Address, frozenset[int]], ValueFlow | None] = field(
        default_factory=dict
    )
    _arguments: dict[tuple[Address, Origin], frozenset[Origin]] = field(
        default_factory=dict
    )
    _found: dict[int, _Held | None] = field(default_factory=dict)

    def loss(self, stack: int) -> Loss | None:
        """What became of a block with an allocation stack, None without a guess."""
        calls = self.builder.calls(stack)
        held = self._held(stack)
        if held is None:
            return None
        local = self._variable(held)
        where = self._stack(stack, calls, held, local)
        if held.flow.is_ignored and local is None:
            return Loss(Cause.NEVER_STORED, where, None, Precision.EXACT)
        name = local.name if local is not None else None
        unlined = replace(where.frames[0], line=0, column=0)
        where = replace(where, frames=(unlined, *where.frames[1:]))
        return Loss(Cause.OUT_OF_SCOPE, where, name, Precision.PROBABLE)

    def birth(self, stack: int) -> Stack | None:
        """Where the variable that `loss` names got the block, if that is known."""
        held = self._held(stack)
        at = self._filled_at(held) if held is not None else None
        if held is None or at is None:
            return None
        storer = held.stored_by
        if storer is not None:
            at = Address(storer.site.module, storer.flow.stored[0])
        depth = (storer or held).depth
        whole = self.builder.stack(stack)
        below = self._frames_below(self.builder.calls(stack), depth + 1)
        frames = (*self.lines.frames(at), *whole.frames[below:])
        return replace(whole, frames=frames, folded_at=None)

    def _filled_at(self, held: _Held) -> Address | None:
        """The instruction after which the variable carries the block."""
        module, site = held.site
        first = self._first_carrier(held)
        if first is None:
            return None
        code = self.reader.code_at(module, first.address)
        before = code.ending_at(first.address) if code is not None else None
        if first.address == site or before is None:
            return Address(module, first.address - 1)
        return Address(module, before.ip)

    def _held(self, stack: int) -> _Held | None:
        if stack not in self._found:
            self._found[stack] = self._find(self.builder.calls(stack))
        return self._found[stack]

    def _find(self, calls: Sequence[Call]) -> _Held | None:
        """The outermost function that can have dropped it, as far as it was handed on.

        One further in that may have dropped it counts if those it hands it to do not.
        """
        inner: _Held | None = None
        storer: _Held | None = None
        places = _IN_RESULT
        for depth, call in enumerate(calls):
            site = _return_site(call, self.builder.table)
            if site is None:
                return inner
            places = self._seen_by_caller(site, places)
            if places.behind and not places.slots:
                continue
            is_known = places.in_result or places.slots
            flow = self._flow(site, places.slots) if is_known else None
            if flow is None:
                return inner
            held = _Held(depth, site, flow, storer if places.slots else None)
            if flow.dropped or flow.is_ignored:
                inner = held
            if not flow.returned and (flow.dropped or not flow.stored):
                return inner or held
            storer = held
            places = _IN_RESULT if flow.returned else self._stored_behind(held)
        return inner

    def _flow(self, site: Address, slots: frozenset[int]) -> ValueFlow | None:
        key = (site, slots)
        if key not in self._flows:
            self._flows[key] = self._follow(site, slots)
        return self._flows[key]

    def _follow(self, site: Address, slots: frozenset[int]) -> ValueFlow | None:
        module, address = site
        opened = self.reader.open(module)
        code = self.reader.code_at(module, address - 1)
        if opened is None or code is None or address not in code.instructions:
            return None
        flow = follow(code, opened.targets, address, slots=slots)
        if flow.stored and not flow.returned and not flow.dropped:
            flow = _from_frame(code, opened.targets, flow) or flow
        if flow.returned and not self.reader.can_return_pointer(module, address - 1):
            flow.returned = False
            flow.dropped.append(address)
        return flow

    def _stored_behind(self, held: _Held) -> _Places:
        """The places behind its arguments that a function stored the block to."""
        code = self.reader.code_at(held.site.module, held.site.offset - 1)
        if code is None:
            return _Places()
        stores = held.flow.stored
        found = {place for one in stores for place in stored_places(code, one)}
        return _Places(behind=frozenset(one for one in found if one.is_behind))

    def _seen_by_caller(self, site: Address, places: _Places) -> _Places:
        """Places behind the arguments of a call, as the function that calls knows them.

        They lie in its own frame, or behind its own arguments.
        """
        if places.in_result:
            return places
        found: frozenset[Origin] = frozenset().union(
            *(self._argument(site, one) for one in places.behind)
        )
        return _Places(
            slots=frozenset(one.offset for one in found if not one.is_behind),
            behind=frozenset(one for one in found if one.is_behind),
        )

    def _argument(self, site: Address, given: Origin) -> frozenset[Origin]:
        key = (site, given)
        if key not in self._arguments:
            code = self.reader.code_at(site.module, site.offset - 1)
            found = argument_at_call(code, site.offset, given) if code else frozenset()
            self._arguments[key] = found
        return self._arguments[key]

    def _variable(self, held: _Held) -> Local | None:
        """The variable that carried the block."""
        first = self._first_carrier(held)
        return self._locals(held, first)[0] if first is not None else None

    def _first_carrier(self, held: _Held) -> Carrier | None:
        """The first place with a name; that of a parameter only if there is no other."""
        parameter = None
        for carrier in held.flow.carriers:
            found = self._locals(held, carrier)
            if found and not found[0].is_parameter:
                return carrier
            if found and parameter is None:
                parameter = carrier
        return parameter

    def _locals(self, held: _Held, carrier: Carrier) -> list[Local]:
        """The variables at a place, parameters last."""
        module = held.site.module
        found = self.reader.locals_at(module, carrier.address, _place_of(carrier))
        return sorted(found, key=lambda one: one.is_parameter)

    def _stack(
        self, number: int, calls: Sequence[Call], held: _Held, local: Local | None
    ) -> Stack:
        """The frames from the function that held the block outwards."""
        here = self.builder.frames[calls[held.depth].address]
        below = self._frames_below(calls, held.depth) + _frame_index(here, local)
        stack = self.builder.stack(number)
        folded = stack.folded_at
        return replace(
            stack,
            frames=stack.frames[below:],
            folded_at=folded - below if folded is not None and folded > below else None,
        )

    def _frames_below(self, calls: Sequence[Call], depth: int) -> int:
        """How many frames the calls further in than a depth have."""
        frames = self.builder.frames
        return sum(len(frames[call.address]) for call in calls[:depth] if call.address)


def _return_site(call: Call, table: StackTable) -> Address | None:
    """The address that a call returned to; None where frames were left out."""
    if not call.address or call.flags & (Node.EXACT_PC | Node.FOLDED):
        return None
    module, offset = table.addresses[call.address]
    return Address(module, offset + 1)


def _from_frame(
    code: MachineCode, targets: CallTargets, flow: ValueFlow
) -> ValueFlow | None:
    """What became of a block that a function stored through a pointer to its frame."""
    for store in flow.stored:
        places = stored_places(code, store)
        slots = frozenset(one.offset for one in places if not one.is_behind)
        if slots:
            after = code.instructions[store].next_ip
            return follow(code, targets, after, slots=slots)
    return None


def _place_of(carrier: Carrier) -> Place:
    if carrier.register is None:
        return Place(None, carrier.cfa_offset)
    return Place(DWARF_REGISTERS.get(carrier.register, -1))


def _frame_index(frames: Sequence[Frame], local: Local | None) -> int:
    """Which of the calls inlined at an address declares a variable."""
    if local is not None:
        for index, frame in enumerate(frames):
            if plain_name(frame.function) == local.function:
                return index
    return len(frames) - 1
