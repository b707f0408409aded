"""Everything the walk over one function needs to know besides its states."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from leakline.static.engine.values import (
    CODE,
    GLOBAL,
    HEAP,
    STACK,
    SYMBOL,
    Terms,
    Value,
)
from leakline.static.facts import Body, Function, Global, Unit
from leakline.static.instructions import (
    Call,
    Constant,
    FunctionConstant,
    GlobalConstant,
    IntConstant,
    Invoke,
    NullConstant,
    OtherConstant,
    TextConstant,
    ZeroConstant,
)

if TYPE_CHECKING:
    from leakline.static.engine.control import Flow
    from leakline.static.engine.defects import Partners
    from leakline.static.engine.findings import Candidate
    from leakline.static.engine.summary import Allocation, Summary
    from leakline.static.models.language import Model

_ASCII = 128
# A number written as an address, such as MAP_FAILED.
_ADDRESS = re.compile(r"inttoptr \(i\d+ (-?\d+) to ptr\)$")
# A joined value with more parts than this is not worth following.
_MOST_PARTS = 12
# Small functions may be walked so far.
_LEAST_WALKED = 30_000


@dataclass(frozen=True, slots=True)
class Options:
    """How hard to look.

    Attributes:
        allocation_may_fail: Also follow paths on which malloc returns null.
        null_dereference: Report uses of an allocation that may be null.
        most_instructions: Instructions walked in one function before giving up,
            whatever its size.
        most_visits: How often an instruction is walked on average before giving up.
        most_states: States kept at one block before they are made one.
        most_disjuncts: Behaviours kept in one summary.
        replay_instructions: Instructions walked to confirm one candidate.
        solver_effort: Resource limit of one query to the solver.
    """

    allocation_may_fail: bool = False
    null_dereference: bool = False
    most_instructions: int = 120_000
    most_visits: int = 50
    most_states: int = 24
    most_disjuncts: int = 14
    replay_instructions: int = 40_000
    solver_effort: int = 2_000_000


class Surroundings(Protocol):
    """The rest of the program, as one function sees it."""

    def targets(self, call: Call | Invoke) -> tuple[str, ...] | None:
        """Ids or library names that a call may reach; None when unknown."""

    def summary(self, function_id: str) -> "Summary | None":
        """What a function of the program does; None when it is not one."""

    def model(self, name: str) -> "Model | None":
        """The model of a library function."""

    def code_id(self, name: str) -> str:
        """Id of the function that a name means here."""

    def global_id(self, name: str) -> str:
        """A name for a variable that is the same in every unit that means it."""

    def variable(self, name: str) -> Global | None:
        """The definition of the variable that a name means here."""


@dataclass(slots=True)
class Context:
    """One function being walked.

    Attributes:
        constants: Values of the body's constants.
        globals: Base of a global variable to its definition, where known.
        releases: Symbol freed here to the family and location of the release.
        parts: Symbol made by joining to the values it may stand for.
        taints: Reasons why the walk did not see everything.
        walked: Instructions walked so far.
        replaying: The walk follows single paths and records what happens on them.
        sought: In a replay, the site of the object whose leak is to be confirmed.
        unwound: Some state is, or was, on its way with an exception.
        own: Ids of the globals that the function names.
        projected: Summaries of callees, as far as they concern this function.
        released: Site of objects to the locations where such objects are released.
        partners: Functions that made and that released an object.
        here: Location of the instruction being walked.
        block: Number of the block being walked.
    """

    function_id: str
    unit: Unit
    function: Function
    body: Body
    flow: "Flow"
    surroundings: Surroundings
    options: Options
    terms: Terms = field(default_factory=Terms)
    constants: list[Value] = field(default_factory=list)
    globals: dict[int, Global] = field(default_factory=dict)
    allocations: "dict[int, Allocation]" = field(default_factory=dict)
    releases: dict[int, tuple[str, int]] = field(default_factory=dict)
    candidates: "dict[tuple[object, ...], Candidate]" = field(default_factory=dict)
    parts: dict[int, dict[Value, None]] = field(default_factory=dict)
    taints: dict[str, int] = field(default_factory=dict)
    walked: int = 0
    replaying: bool = False
    sought: object = None
    unwound: bool = False
    here: int = 0
    block: int = 0
    own: frozenset[str] = frozenset()
    projected: "dict[str, Summary]" = field(default_factory=dict)
    released: dict[object, dict[int, None]] = field(default_factory=dict)
    partners: "dict[Partners, None]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.own = frozenset(map(self.surroundings.global_id, self.function.globals))
        self.constants.extend(
            self._constant(index, constant)
            for index, constant in enumerate(self.body.constants)
        )

    def _constant(self, index: int, constant: Constant) -> Value:
        match constant:
            case IntConstant():
                return constant.value
            case NullConstant() | ZeroConstant():
                return 0
            case FunctionConstant():
                code = ("code", self.surroundings.code_id(constant.name))
                return self.terms.base(CODE, code), 0
            case GlobalConstant():
                return self._global(constant.name), constant.offset
            case OtherConstant() if address := _ADDRESS.search(constant.text):
                return int(address[1])
            case _:
                return self.terms.symbol("undef", "constant", index)

    def _global(self, name: str) -> int:
        key = ("global", self.surroundings.global_id(name))
        base = self.terms.base(GLOBAL, key)
        if base not in self.globals:
            variable = self.surroundings.variable(name)
            if variable is not None:
                self.globals[base] = variable
        return base

    def initial(self, base: int, offset: int) -> Value | None:
        """What a constant global holds, or None when it is not known."""
        variable = self.globals.get(base)
        if variable is None or not variable.constant:
            return None
        for item in variable.initialiser:
            constant = item.constant
            if isinstance(constant, TextConstant):
                place = offset - item.offset_bytes
                if 0 <= place < len(constant.text):
                    code = ord(constant.text[place])
                    return code if code < _ASCII else None
            elif item.offset_bytes == offset:
                return self._constant(len(self.constants) + offset, constant)
        return None if variable.truncated else 0

    def add_parts(self, base: int, values: tuple[Value, ...]) -> list[Value]:
        """Remember what a joined symbol may stand for; those left out come back.

        Only addresses of objects, and of memory that callers own, are worth it.
        """
        left_out: list[Value] = []
        for value in values:
            if isinstance(value, int) or not self._is_address(value[0]):
                continue
            parts = self.parts.setdefault(base, {})
            if value in parts:
                continue
            if len(parts) < _MOST_PARTS:
                parts[value] = None
            else:
                left_out.append(value)
        return left_out

    def _is_address(self, base: int) -> bool:
        if self.terms.kinds[base] != SYMBOL:
            return self.terms.kinds[base] in (HEAP, STACK)
        return base in self.parts or self.terms.keys[base][0] in ("arg", "cell")

    def over_budget(self) -> bool:
        """Whether the walk has taken longer than it is worth."""
        visits = _LEAST_WALKED + self.options.most_visits * self.function.instructions
        return self.walked > min(visits, self.options.most_instructions)

    def taint(self, reason: str) -> None:
        """Remember that the walk did not see everything."""
        self.taints[reason] = self.taints.get(reason, 0) + 1
