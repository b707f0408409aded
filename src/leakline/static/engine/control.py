"""The shape of a function: order of blocks, loops, and which registers are needed."""

from dataclasses import dataclass
from typing import Any

from leakline.static.facts import Body, Function
from leakline.static.instructions import (
    Alloca,
    Asm,
    Branch,
    Goto,
    Instruction,
    Invoke,
    Jump,
    Op,
    Phi,
    Return,
    Switch,
)

# A binding of a variable, placed among the instructions: (BIND, -1, location,
# variable, value or None). Its number follows those of the facts' instructions.
BIND = len(Op)


@dataclass(frozen=True, slots=True)
class Flow:
    """A function prepared for walking.

    Attributes:
        blocks: Instructions of each block with bindings in their places.
        successors: Blocks that can follow each block.
        order: Position of each block; loops' bodies come before what follows them.
        back: Edges (from, to) that close a loop.
        loops: Head of each loop to its blocks.
        depth: How many loops each block is in.
        live: Registers needed at the start of each block, phis' sources aside.
        unread: Registers that no instruction reads.
        results: Registers that may become the function's result.
        numbers: Registers that hold integers of any width.
        names: Register to the name and type of the variable that holds it first.
    """

    blocks: tuple[tuple[Instruction, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    back: frozenset[tuple[int, int]]
    loops: dict[int, frozenset[int]]
    depth: tuple[int, ...]
    live: tuple[frozenset[int], ...]
    unread: frozenset[int]
    results: frozenset[int]
    numbers: frozenset[int]
    names: dict[int, tuple[str, int]]


def flow_of(function: Function, body: Body) -> Flow:
    """Prepare a function."""
    successors = tuple(_successors(block[-1]) for block in body.blocks)
    predecessors = _inverse(successors)
    back = _back_edges(successors)
    loops = _loops(back, predecessors)
    depth = tuple(
        sum(block in loop for loop in loops.values())
        for block in range(len(successors))
    )
    order = _order(successors, depth)
    return Flow(
        blocks=_with_bindings(body),
        successors=successors,
        order=order,
        back=back,
        loops=loops,
        depth=depth,
        live=_live(body, successors, order),
        unread=_unread(body),
        results=_results(body),
        numbers=_numbers(function, body),
        names=_names(body),
    )


def _successors(last: Instruction) -> tuple[int, ...]:
    match last:
        case Branch():
            targets = [last.if_true, last.if_false]
        case Jump():
            targets = [last.target]
        case Switch():
            targets = [last.default, *(block for _, block in last.cases)]
        case Invoke():
            targets = [last.normal, last.unwind]
        case Goto() | Asm():
            targets = list(last.targets)
        case _:
            targets = []
    return tuple(dict.fromkeys(targets))


def _inverse(successors: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    predecessors: list[list[int]] = [[] for _ in successors]
    for block, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(block)
    return predecessors


def _back_edges(successors: tuple[tuple[int, ...], ...]) -> frozenset[tuple[int, int]]:
    unseen, open_, done = 0, 1, 2
    colour = [unseen] * len(successors)
    colour[0] = open_
    back = set()
    stack = [(0, iter(successors[0]))]
    while stack:
        block, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            colour[block] = done
            stack.pop()
        elif colour[target] == unseen:
            colour[target] = open_
            stack.append((target, iter(successors[target])))
        elif colour[target] == open_:
            back.add((block, target))
    return frozenset(back)


def _loops(
    back: frozenset[tuple[int, int]], predecessors: list[list[int]]
) -> dict[int, frozenset[int]]:
    bodies: dict[int, set[int]] = {}
    for tail, head in sorted(back):
        body = bodies.setdefault(head, {head})
        work = [tail]
        while work:
            block = work.pop()
            if block not in body:
                body.add(block)
                work.extend(predecessors[block])
    return {head: frozenset(body) for head, body in bodies.items()}


def _order(
    successors: tuple[tuple[int, ...], ...], depth: tuple[int, ...]
) -> tuple[int, ...]:
    """Reverse postorder in which a loop is finished before what follows it."""
    seen = {0}
    finished: list[int] = []
    stack = [(0, iter(sorted(successors[0], key=depth.__getitem__)))]
    while stack:
        block, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            finished.append(block)
            stack.pop()
        elif target not in seen:
            seen.add(target)
            stack.append(
                (target, iter(sorted(successors[target], key=depth.__getitem__)))
            )
    position = [len(successors)] * len(successors)
    for place, block in enumerate(reversed(finished)):
        position[block] = place
    return tuple(position)


def _with_bindings(body: Body) -> tuple[tuple[Instruction, ...], ...]:
    if not body.bindings:
        return body.blocks
    blocks: list[list[Instruction]] = [list(block) for block in body.blocks]
    last_first = sorted(
        enumerate(body.bindings),
        key=lambda item: (item[1].position, item[0]),
        reverse=True,
    )
    for _, binding in last_first:
        row = (BIND, -1, binding.location, binding.variable, binding.value)
        place = max(binding.position, _after_phis(blocks[binding.block]))
        blocks[binding.block].insert(place, row)  # type: ignore[arg-type]  # see BIND
    return tuple(tuple(block) for block in blocks)


def _after_phis(block: list[Instruction]) -> int:
    for index, instruction in enumerate(block):
        if instruction[0] != Op.PHI:
            return index
    return len(block)


# For each kind of instruction, the places of its row that hold values.
_VALUES: dict[int, tuple[int, ...]] = {
    Op.ALLOCA: (4,),
    Op.LOAD: (3,),
    Op.STORE: (3, 4),
    Op.ADDRESS: (3,),
    Op.COMPARE: (4, 5),
    Op.SELECT: (3, 4, 5),
    Op.BINARY: (4, 5),
    Op.CAST: (4,),
    Op.BRANCH: (3,),
    Op.SWITCH: (3,),
    Op.RETURN: (3,),
    Op.RESUME: (3,),
    Op.COPY: (3, 4, 5),
    Op.FILL: (3, 4, 5),
    Op.VARIADIC: (4, 5),
    Op.EXTRACT: (3,),
    Op.INSERT: (3, 4),
    Op.ATOMIC: (4, 5, 6),
    Op.ASSUME: (3,),
    Op.GOTO: (3,),
}


def used_values(instruction: Instruction) -> list[int]:
    """The registers an instruction reads; phis read theirs on the edges."""
    row: tuple[Any, ...] = instruction
    kind = row[0]
    if kind in (Op.CALL, Op.INVOKE):
        found = list(row[4])
        if isinstance(row[3], int):
            found.append(row[3])
    elif kind == Op.ASM:
        found = list(row[3])
    elif kind == Op.OTHER:
        found = list(row[4])
    else:
        found = [row[place] for place in _VALUES.get(kind, ())]
        if kind == Op.ADDRESS:
            found.extend(value for value, _ in row[5])
    return [value for value in found if value is not None and value >= 0]


def _live(
    body: Body, successors: tuple[tuple[int, ...], ...], order: tuple[int, ...]
) -> tuple[frozenset[int], ...]:
    uses, defines, edges = _block_uses(body)
    live: list[set[int]] = [set() for _ in successors]
    last_first = sorted(range(len(successors)), key=order.__getitem__, reverse=True)
    changed = True
    while changed:
        changed = False
        for block in last_first:
            needed: set[int] = set()
            for target in successors[block]:
                needed |= live[target]
                needed |= edges[target].get(block, set())
            needed = uses[block] | (needed - defines[block])
            if needed != live[block]:
                live[block] = needed
                changed = True
    return tuple(frozenset(registers) for registers in live)


def _block_uses(
    body: Body,
) -> tuple[list[set[int]], list[set[int]], list[dict[int, set[int]]]]:
    uses: list[set[int]] = []
    defines: list[set[int]] = []
    edges: list[dict[int, set[int]]] = []
    for block in body.blocks:
        used: set[int] = set()
        defined: set[int] = set()
        edge: dict[int, set[int]] = {}
        for row in block:
            if isinstance(row, Phi):
                for source, value in row.incoming:
                    if value >= 0:
                        edge.setdefault(source, set()).add(value)
            else:
                used.update(v for v in used_values(row) if v not in defined)
            if row[1] >= 0:
                defined.add(row[1])
        uses.append(used)
        defines.append(defined)
        edges.append(edge)
    return uses, defines, edges


def _unread(body: Body) -> frozenset[int]:
    defined: set[int] = set()
    read: set[int] = set()
    for block in body.blocks:
        for row in block:
            defined.add(row[1])
            read.update(used_values(row))
            if isinstance(row, Phi):
                read.update(value for _, value in row.incoming)
    return frozenset(defined - read)


def _results(body: Body) -> frozenset[int]:
    """Follow returned registers back through phis."""
    phis = {
        row.result: row
        for block in body.blocks
        for row in block
        if isinstance(row, Phi)
    }
    work = [
        row.value
        for block in body.blocks
        for row in block
        if isinstance(row, Return) and row.value is not None
    ]
    found: set[int] = set()
    while work:
        register = work.pop()
        if register in found or register < 0:
            continue
        found.add(register)
        phi = phis.get(register)
        if phi is not None:
            work.extend(value for _, value in phi.incoming)
    return frozenset(found)


def _names(body: Body) -> dict[int, tuple[str, int]]:
    names: dict[int, tuple[str, int]] = {}
    for binding in body.bindings:
        if binding.value is not None and binding.value >= 0:
            variable = body.variables[binding.variable]
            names.setdefault(binding.value, (variable.name, variable.type))
    for block in body.blocks:
        for row in block:
            if isinstance(row, Alloca) and row.variable >= 0:
                variable = body.variables[row.variable]
                names[row.result] = (variable.name, variable.type)
    return names


# For each kind of instruction with a typed result, the place of the type in its row.
_TYPES: dict[int, int] = {
    Op.LOAD: 4,
    Op.PHI: 3,
    Op.SELECT: 6,
    Op.BINARY: 6,
    Op.CAST: 5,
    Op.CALL: 5,
    Op.INVOKE: 5,
    Op.EXTRACT: 5,
    Op.ATOMIC: 7,
}


def _numbers(function: Function, body: Body) -> frozenset[int]:
    found = {
        index
        for index, parameter in enumerate(function.declaration.parameters)
        if (parameter.ty or 0) > 0
    }
    for block in body.blocks:
        for instruction in block:
            row: tuple[Any, ...] = instruction
            place = _TYPES.get(row[0])
            if row[0] == Op.COMPARE or (place is not None and (row[place] or 0) > 0):
                found.add(row[1])
    return frozenset(found)
