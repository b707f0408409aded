"""The whole program: all units, their functions by id, and the order of calls.

A *function id* is the symbol's name, with `@` and the unit's source when the name alone
is not unique (internal functions, or several programs that define the same name).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from leakline.static.facts import Body, Declaration, Function, Global, Linkage, Unit
from leakline.static.foreign_types import Adoption
from leakline.static.indirect import CodeAddresses
from leakline.static.instructions import Call, FunctionConstant, Invoke
from leakline.static.linking import Linker, LinkUnit
from leakline.static.scc import bottom_up_components

# More possible targets than this say nothing about an indirect call.
MAX_INDIRECT_TARGETS = 8


@dataclass(frozen=True, slots=True)
class ProgramFunction:
    """A defined function and the number of its unit."""

    id: str
    unit: int
    function: Function


class Program:
    """All units of a check, with names resolved and calls ordered.

    Attributes:
        units: In the order given; a unit's number is its position.
        functions: By id, in the order of units and definitions.
        components: Ids of mutually recursive functions, callees before callers.
    """

    def __init__(self, units: Sequence[Unit], links: Iterable[LinkUnit] = ()) -> None:
        self._linker = Linker(units, links)
        self._unchanged = _unchanged(units, self._linker)
        self._foreign: dict[tuple[int, str], Global] = {}
        self.units = tuple(
            self._completed(number, units) for number in range(len(units))
        )
        self._ids = _function_ids(self.units)
        self.functions: dict[str, ProgramFunction] = {}
        for (number, name), function_id in self._ids.items():
            function = self.units[number].functions[name]
            entry = ProgramFunction(function_id, number, function)
            self.functions.setdefault(function_id, entry)
        self._addresses = CodeAddresses(self.units)
        self._callees = {name: self._find_callees(name) for name in self.functions}
        self.components = bottom_up_components(self._callees, self.functions)

    def resolve(self, unit: int, name: str) -> str | None:
        """Id of the function that a name means in a unit, None when not defined here.

        None also stands for a name that several programs define differently.
        """
        own = self.units[unit].functions.get(name)
        if own is not None and own.linkage is Linkage.INTERNAL:
            return self._ids[unit, name]
        alias = self.units[unit].aliases.get(name)
        if alias is not None and alias[0] in self.units[unit].functions:
            return self._ids[unit, alias[0]]
        defining = self._linker.function(unit, name)
        if defining is None and own is not None:
            defining = unit
        return None if defining is None else self._ids[defining, name]

    def declaration(self, unit: int, name: str) -> Declaration | None:
        """How a unit sees a function: its own definition or its declaration."""
        own = self.units[unit].functions.get(name)
        if own is not None:
            return own.declaration
        return self.units[unit].declarations.get(name)

    def global_id(self, unit: int, name: str) -> str:
        """A name for a variable that is the same in every unit that means it."""
        own = self.units[unit].globals.get(name)
        if own is not None and own.linkage is Linkage.INTERNAL:
            return f"{name}@{self.units[unit].source}"
        return name

    def variable(self, unit: int, name: str) -> Global | None:
        """The definition of a variable that a name means in a unit.

        Its type is an index into the table of the asking unit.
        """
        own = self.units[unit].globals.get(name)
        if own is not None and own.defined:
            return own
        return self._foreign.get((unit, name))

    def callees(self, function_id: str) -> tuple[str, ...]:
        """Ids of defined functions that a function may call, without repeats."""
        return self._callees[function_id]

    def is_address_taken(self, function_id: str) -> bool:
        """Whether code may call the function through a pointer."""
        entry = self.functions[function_id]
        return self._addresses.is_taken(entry.unit, entry.function.name)

    def indirect_targets(
        self, function_id: str, body: Body, call: Call | Invoke
    ) -> tuple[str, ...] | None:
        """What an indirect call may reach, None when that is not known.

        Names of library functions stand beside ids of defined ones.
        """
        entry = self.functions[function_id]
        names = self._addresses.targets(
            entry.unit, body, call, self._linker.partners(entry.unit)
        )
        if names is None or not self._linker.is_closed(entry.unit):
            return None
        found = (self.resolve(unit, name) or name for unit, name in names)
        targets = tuple(dict.fromkeys(found))
        return targets if 0 < len(targets) <= MAX_INDIRECT_TARGETS else None

    def _completed(self, number: int, units: Sequence[Unit]) -> Unit:
        """The unit with the types of variables that others define.

        Variables that nobody changes become constants.
        """
        unit = units[number]
        own = {
            name: replace(variable, constant=True)
            if (number, name) in self._unchanged
            else variable
            for name, variable in unit.globals.items()
        }
        adoption = Adoption(unit.types)
        for name, variable in unit.globals.items():
            defining = None if variable.defined else self._linker.variable(number, name)
            if defining is not None:
                other = units[defining]
                found = other.globals[name]
                adopted = adoption.adopt(defining, other.types, found.type)
                constant = found.constant or (defining, name) in self._unchanged
                found = replace(found, type=adopted, constant=constant)
                self._foreign[number, name] = found
        return replace(unit, types=tuple(adoption.types), globals=own)

    def _find_callees(self, function_id: str) -> tuple[str, ...]:
        entry = self.functions[function_id]
        names = list(entry.function.calls)
        names += self._addresses.passed_to_callers(entry.function)
        found = [self.resolve(entry.unit, name) for name in names]
        if entry.function.signatures:
            found += self._indirect_callees(entry)
        return tuple(dict.fromkeys(name for name in found if name in self.functions))

    def _indirect_callees(self, entry: ProgramFunction) -> list[str | None]:
        body = entry.function.body()
        found: list[str | None] = []
        for row in (row for block in body.blocks for row in block):
            if isinstance(row, (Call, Invoke)) and row.signature:
                found += self.indirect_targets(entry.id, body, row) or ()
        for name in entry.function.globals:
            found += self._functions_in_constant(entry.unit, name)
        return found

    def _functions_in_constant(self, unit: int, name: str) -> list[str | None]:
        """Functions in a table that never changes; a load from it is one of them."""
        defining = self._defining_unit(unit, name)
        variable = None if defining is None else self.units[defining].globals[name]
        if defining is None or variable is None or not variable.constant:
            return []
        return [
            self.resolve(defining, value.constant.name)
            for value in variable.initialiser
            if isinstance(value.constant, FunctionConstant)
        ]

    def _defining_unit(self, unit: int, name: str) -> int | None:
        own = self.units[unit].globals.get(name)
        if own is not None and own.defined:
            return unit
        return self._linker.variable(unit, name)


def _unchanged(units: Sequence[Unit], linker: Linker) -> set[tuple[int, str]]:
    """Variables, by unit and name, that no code of their programs can change."""
    changing = {
        (number, name)
        for number, unit in enumerate(units)
        for name, variable in unit.globals.items()
        if not variable.only_read
    }
    return {
        (number, name)
        for number, unit in enumerate(units)
        for name, variable in unit.globals.items()
        if variable.defined
        and (number, name) not in changing
        and (
            variable.linkage is Linkage.INTERNAL
            or _is_left_alone(number, name, variable, linker, changing)
        )
    }


def _is_left_alone(
    unit: int,
    name: str,
    variable: Global,
    linker: Linker,
    changing: set[tuple[int, str]],
) -> bool:
    """Whether no other unit of a program whose code is all known changes it."""
    return (
        variable.linkage is Linkage.EXTERNAL
        and linker.is_closed(unit)
        and not any((other, name) in changing for other in linker.partners(unit))
    )


def _function_ids(units: Sequence[Unit]) -> dict[tuple[int, str], str]:
    """Ids by unit number and name; equal inline functions of units share one."""
    contents: dict[str, dict[bytes, None]] = defaultdict(dict)
    for number, unit in enumerate(units):
        for name, function in unit.functions.items():
            if function.linkage is not Linkage.INTERNAL:
                contents[name][_content(number, function)] = None
    sources = _unit_names(units)
    first: dict[tuple[str, bytes], str] = {}
    ids = {}
    for number, unit in enumerate(units):
        for name, function in unit.functions.items():
            unique = len(contents[name]) == 1 if name in contents else False
            is_own = function.linkage is Linkage.INTERNAL or not unique
            proposal = f"{name}@{sources[number]}" if is_own else name
            key = name, _content(number, function)
            ids[number, name] = first.setdefault(key, proposal)
    return ids


def _content(unit: int, function: Function) -> bytes:
    """The same for definitions that stand for each other, else different."""
    if function.linkage is Linkage.ONCE:
        return function.digest()
    return str(unit).encode()


def _unit_names(units: Sequence[Unit]) -> list[str]:
    """Sources of units; one compiled several times gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for unit in units:
        source = unit.files[0]
        seen[source] += 1
        names.append(source if seen[source] == 1 else f"{source}#{seen[source]}")
    return names
