"""Turns the trace of a block into a loss: line, variable, cause and path."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iced_x86 import FlowControl, Instruction, Mnemonic, OpKind, RegisterExt

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.lines import Lines
from leakline.dynamic.traces import Step, Trace
from leakline.model.finding import Cause, Loss, PathStep, Precision
from leakline.model.stack import Frame, Stack
from leakline.recording._format import Refined
from leakline.symbols.dwarf_registers import DWARF_REGISTERS
from leakline.symbols.dwarf_types import type_of
from leakline.symbols.locals import Local, Place
from leakline.symbols.machine_code import MachineCode
from leakline.symbols.resolve import Address
from leakline.symbols.unwind_tables import RBP, RSP
from leakline.symbols.variables import is_optimised

_CALLS = (FlowControl.CALL, FlowControl.INDIRECT_CALL)
_RAX = 0
# rbx, rbp and r12 to r15, by their DWARF numbers.
_KEPT_FOR_CALLERS = (3, 6, 12, 13, 14, 15)
_LEAVE_AS_IT_IS = (Mnemonic.POP, Mnemonic.CMP, Mnemonic.TEST, Mnemonic.PUSH)

_WHY_NOT = {
    Refined.NOT_MET: "the second run did not allocate this block: the program did not "
    "repeat itself",
    Refined.HELD: "in the second run something referred to the block until the end",
    Refined.FREED: "the second run freed this block: the program did not repeat itself",
    Refined.GIVEN_UP: "the second run gave this block up: it took too long, or the "
    "program handles SIGTRAP",
}

_WHY_NOT_IN_SAME_RUN = {
    Refined.NOT_MET: "none of the blocks that were followed while the program ran was "
    "lost",
    Refined.HELD: "something referred to the block that was followed until the end",
    Refined.FREED: "all blocks that were followed while the program ran were freed",
    Refined.GIVEN_UP: "following blocks was given up: it took too long, or the program "
    "handles SIGTRAP",
}


def why_not(trace: Trace) -> str:
    """Why a trace does not show the loss."""
    sentences = _WHY_NOT if trace.in_second_run else _WHY_NOT_IN_SAME_RUN
    return sentences.get(trace.outcome, "")


@dataclass(slots=True)
class Refinement:
    """Explains traces; `stack` in its calls is the call stack at the loss."""

    reader: CodeReader
    lines: Lines

    def loss(self, trace: Trace, stack: Stack) -> Loss | None:
        """The loss that a trace shows; None when the block was not lost there."""
        if trace.outcome is not Refined.LOST or not trace.steps or not stack.frames:
            return None
        last = trace.steps[-1]
        before = trace.steps[-2] if len(trace.steps) > 1 else None
        code = self._code(last)
        if code is None:
            return Loss(Cause.OUT_OF_SCOPE, stack, None, Precision.FUNCTION)
        if _was_ignored(before, last, code, self._code(before) if before else None):
            return self._ignored(last, stack)
        if _leaves(code, last.place.offset):
            return self._at_return(trace, stack, code)
        return self._inside(trace, stack, code)

    def birth(self, trace: Trace, stack: Stack) -> Stack | None:
        """Where the function that lost the block put it into what held it last.

        None when that is not known: another function may have put it there.
        """
        code = self._code(trace.steps[-1])
        at = _birth(code, trace.steps[:-1]) if code is not None else None
        return self.lines.moved(stack, at) if at is not None else None

    def path_from(self, in_memory: Loss, trace: Trace) -> tuple[PathStep, ...]:
        """The lines passed from a loss in memory on, that one's included."""
        first = next(iter(in_memory.stack.frames), Frame())
        if not first.line:
            return ()
        event = f"the last reference in memory: {in_memory.cause.value}"
        begun = PathStep(first.file, first.line, event)
        return (begun, *self.path(trace))

    def is_held_by_variable(self, trace: Trace, loss: Loss) -> bool:
        """Whether something that the program still used held the block to the end.

        A word of the stack that is no variable's may be left from earlier, unless only a
        register held the block before: then the word came from there.
        """
        return loss.slot is not None or any(map(self._is_in_own_register, trace.steps))

    def _is_in_own_register(self, step: Step) -> bool:
        """Whether a register held the block that the function itself had filled.

        Those for arguments may be left from earlier calls: nobody knows how many the
        next one takes. Others are kept for callers, who may not need them any more.
        When a function is left, one holds its result, if it is known to have any.
        """
        code = self._code(step)
        if step.register is None or code is None:
            return False
        if _leaves(code, step.place.offset):
            entry = self.reader.function_entry(*step.place)
            return entry is not None and step.register == _RAX
        return step.register in _KEPT_FOR_CALLERS and step.register in _filled(code)

    def path(self, trace: Trace) -> tuple[PathStep, ...]:
        """The lines passed from the allocation to the loss, without repetitions."""
        found: list[PathStep] = []
        for step in trace.steps:
            frame = self.lines.frames(step.place)[-1]
            event = "passed"
            if frame.line and (not found or found[-1].line != frame.line):
                found.append(PathStep(frame.file, frame.line, event))
        return tuple(found)

    def _ignored(self, last: Step, stack: Stack) -> Loss:
        """Nobody used a result again; a variable may have been given it all the same."""
        call = Address(last.place.module, last.place.offset - 1)
        named = self.reader.locals_at(*last.place, Place(_RAX))
        if named:
            return self._loss(Cause.OUT_OF_SCOPE, call, stack, named[0])
        loss = self._loss(Cause.NEVER_STORED, call, stack, None)
        is_plain = loss.precision is Precision.LINE_TABLE
        return replace(loss, precision=Precision.EXACT) if is_plain else loss

    def _at_return(self, trace: Trace, stack: Stack, code: MachineCode) -> Loss:
        """The function that held the block returned."""
        last = trace.steps[-1]
        local = self._variable(trace.steps[:-1], code)
        at = self._last_statement(trace.steps, code)
        return self._loss(Cause.OUT_OF_SCOPE, at or last.place, stack, local)

    def _inside(self, trace: Trace, stack: Stack, code: MachineCode) -> Loss:
        """The block was lost between two points of a function that goes on."""
        last = trace.steps[-1]
        before = next((one for one in trace.steps[-2::-1] if _is_in(code, one)), None)
        local = self._variable(trace.steps[:-1], code)
        if before is None or before is not trace.steps[-2]:
            # Lost while a function that was called from here ran; an exception that
            # left it goes on elsewhere than behind the call.
            returned = _follows_call(code, last.place.offset)
            call = Address(last.place.module, last.place.offset - int(returned))
            loss = self._loss(Cause.OUT_OF_SCOPE, call, stack, local)
            return replace(loss, precision=Precision.WINDOW)
        store = _overwriting(code, before)
        if store is not None:
            at = Address(before.place.module, store)
            return self._loss(Cause.OVERWRITTEN, at, stack, local)
        end = _block_end(code, before.place.offset)
        call = Address(last.place.module, last.place.offset - 1)
        if end.flow_control in _CALLS:
            loss = self._loss(Cause.OUT_OF_SCOPE, call, stack, local)
            return replace(loss, precision=Precision.WINDOW)
        at = Address(before.place.module, end.ip)
        return self._loss(Cause.OUT_OF_SCOPE, at, stack, local)

    def _loss(
        self, cause: Cause, at: Address, stack: Stack, local: Local | None
    ) -> Loss:
        """The loss at an address of the innermost function of a stack."""
        name = local.name if local else None
        return Loss(cause, self.lines.moved(stack, at), name, self._precision(at))

    def _precision(self, at: Address) -> Precision:
        frames = self.lines.frames(at)
        if not frames[0].line:
            return Precision.FUNCTION
        if len(frames) > 1:
            return Precision.APPROXIMATE
        entry = self.reader.function_entry(at.module, at.offset)
        if entry is None or is_optimised(entry):
            return Precision.LINE_TABLE
        return Precision.EXACT

    def _code(self, step: Step) -> MachineCode | None:
        return self.reader.code_at(step.place.module, step.place.offset)

    def _variable(self, steps: Sequence[Step], code: MachineCode) -> Local | None:
        """The variable that held the block last, in one function."""
        parameter = None
        for step in reversed(steps):
            if not _is_in(code, step):
                continue
            for place in _places(code, step):
                for local in self.reader.locals_at(
                    step.place.module, step.place.offset, place
                ):
                    if not local.is_parameter:
                        return local
                    parameter = parameter or local
        return parameter

    def _last_statement(
        self, steps: Sequence[Step], code: MachineCode
    ) -> Address | None:
        """The last line that ran before the code that ends the function.

        Where nothing is returned and the end was not jumped to, the end itself counts.
        """
        module = steps[-1].place.module
        end_line = self.lines.line(steps[-1].place)
        entry = self.reader.function_entry(module, code.start)
        returns_nothing = entry is not None and type_of(entry) is None
        for step in reversed(steps[:-1]):
            if step.place.offset not in code.instructions:
                return None
            for address in reversed(_block(code, step.place.offset)):
                instruction = code.instructions[address]
                line = self.lines.line(Address(module, address))
                if not line or line == end_line:
                    continue
                jumped = instruction.flow_control != FlowControl.NEXT
                if returns_nothing and not jumped:
                    return None
                return Address(module, address)
        return None


def _is_in(code: MachineCode, step: Step) -> bool:
    return step.place.offset in code.instructions


def _was_ignored(
    before: Step | None,
    last: Step,
    code: MachineCode,
    code_before: MachineCode | None,
) -> bool:
    """Whether a call returned the block and nobody took the result."""
    if not _follows_call(code, last.place.offset):
        return False
    if before is None:
        return True
    returned = code_before is not None and _leaves(code_before, before.place.offset)
    return returned and before.register == _RAX and code_before is not code


def _follows_call(code: MachineCode, address: int) -> bool:
    before = code.ending_at(address)
    return before is not None and before.flow_control in _CALLS


def _leaves(code: MachineCode, address: int) -> bool:
    instruction = code.instructions.get(address)
    is_return = (
        instruction is not None and instruction.flow_control == FlowControl.RETURN
    )
    return is_return or address in code.tail_calls


def _filled(code: MachineCode) -> set[int]:
    """DWARF numbers of the registers that a function writes for its own use."""
    written = {
        int(RegisterExt.full_register(one.op0_register))
        for one in code.instructions.values()
        if one.op_count
        and one.op0_kind == OpKind.REGISTER
        and one.mnemonic not in _LEAVE_AS_IT_IS
    }
    return {DWARF_REGISTERS[one] for one in written if one in DWARF_REGISTERS}


def _places(code: MachineCode, step: Step) -> Iterator[Place]:
    """Where the block was held, as debug information describes places."""
    if step.register is not None:
        yield Place(step.register)
    rule = code.rule_at(step.place.offset)
    if step.slot_from_sp is None or rule is None:
        return
    if rule.register == RSP:
        yield Place(None, step.slot_from_sp - rule.offset)
    elif rule.register == RBP:
        yield Place(None, step.slot_from_sp - step.rbp_from_sp - rule.offset)


def _birth(code: MachineCode, steps: Sequence[Step]) -> Address | None:
    """The instruction of a function that filled the place which held a block last."""
    held = [index for index, step in enumerate(steps) if _is_in(code, step)]
    place = next(_places(code, steps[held[-1]]), None) if held else None
    if place is None:
        return None
    first = held.pop()
    while held and place in _places(code, steps[held[-1]]):
        first = held.pop()
    module, begin = steps[first].place
    if not held:
        is_result = place.register == _RAX and _follows_call(code, begin)
        return Address(module, begin - 1) if is_result else None
    if held[-1] != first - 1:
        return None
    block = _block(code, steps[held[-1]].place.offset)
    filling = [one for one in block if _fills(code, code.instructions[one], place)]
    return Address(module, filling[-1]) if filling else None


def _fills(code: MachineCode, instruction: Instruction, place: Place) -> bool:
    """Whether an instruction writes to a register or a place in the frame."""
    if not instruction.op_count or instruction.mnemonic in _LEAVE_AS_IT_IS:
        return False
    if place.register is None:
        is_store = instruction.op0_kind == OpKind.MEMORY
        return is_store and code.slot_of(instruction) == place.cfa_offset
    if instruction.op0_kind != OpKind.REGISTER:
        return False
    full = int(RegisterExt.full_register(instruction.op0_register))
    return DWARF_REGISTERS.get(full) == place.register


def _block(code: MachineCode, start: int) -> list[int]:
    """The addresses of the straight line of code that begins at a point."""
    addresses = [start]
    while code.instructions[addresses[-1]].flow_control == FlowControl.NEXT:
        following = code.instructions[addresses[-1]].next_ip
        if following not in code.instructions or following in code.branch_targets:
            break
        addresses.append(following)
    return addresses


def _block_end(code: MachineCode, start: int) -> Instruction:
    return code.instructions[_block(code, start)[-1]]


def _overwriting(code: MachineCode, step: Step) -> int | None:
    """The store of a block of code that writes over the slot that held the block."""
    slots = [place.cfa_offset for place in _places(code, step) if not place.register]
    if step.slot_from_sp is None or not slots:
        return None
    for address in _block(code, step.place.offset):
        one = code.instructions[address]
        is_store = one.mnemonic == Mnemonic.MOV and one.op0_kind == OpKind.MEMORY
        if is_store and code.slot_of(one) in slots:
            return address
    return None
