"""Which functions an indirect call may reach.

A function can be called through a pointer only if some code or initial value takes its
address. Of those, a call reaches the ones that take its arguments: C programs cast
function pointers so that a result is ignored or surplus arguments are passed. Where the
pointer is loaded from a structure's member or a variable, and all that is ever stored
there are known functions, the call reaches one of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from leakline.static.facts import Body, Function, Linkage, Unit
from leakline.static.instructions import (
    Call,
    Constant,
    FunctionConstant,
    Invoke,
)

# Library functions that call the functions they are given, before they return.
CALLS_ITS_ARGUMENTS = frozenset(
    [
        "qsort",
        "qsort_r",
        "bsearch",
        "lfind",
        "lsearch",
        "twalk",
        "twalk_r",
        "tdestroy",
        "tsearch",
        "tfind",
        "tdelete",
        "ftw",
        "nftw",
        "glob",
        "scandir",
        "scandirat",
        "fts_open",
        "pthread_once",
        "call_once",
        "hsearch",
        "bsearch_s",
        "qsort_s",
        "dl_iterate_phdr",
        "g_list_foreach",
        "g_slist_foreach",
        "g_hash_table_foreach",
        "g_ptr_array_foreach",
        "g_list_free_full",
        "g_slist_free_full",
    ]
)

Symbol = tuple[int, str]


class CodeAddresses:
    """The functions whose address is taken, by unit and name."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._by_parameters: dict[tuple[str, ...], dict[Symbol, None]] = defaultdict(
            dict
        )
        self._names: set[Symbol] = set()
        self._members = Members(units)
        for number, unit in enumerate(units):
            for name in _addresses(unit):
                self._add(number, name)
        self._taken_elsewhere = {
            name for number, name in self._names if name not in units[number].functions
        }

    def is_taken(self, unit: int, name: str) -> bool:
        """Whether some unit takes the address of the function `unit` defines."""
        return (unit, name) in self._names or name in self._taken_elsewhere

    def with_signature(self, signature: str, units: Iterable[int]) -> list[Symbol]:
        """Functions that a call of this type may reach, taken in one of the units."""
        allowed = frozenset(units)
        parameters = _parameters(signature)
        return [
            symbol
            for count in range(len(parameters) + 1)
            for symbol in self._by_parameters.get(parameters[:count], ())
            if symbol[0] in allowed
        ]

    def targets(
        self, unit: int, body: Body, call: Call | Invoke, units: Iterable[int]
    ) -> list[Symbol] | None:
        """Functions that an indirect call may reach; None when it is not indirect."""
        if call.signature is None or isinstance(call.callee, str):
            return None
        if call.callee < 0:
            constant = body.constants[-call.callee - 1]
            return _named(unit, constant)
        allowed = frozenset(units)
        stored = self._members.stored(unit, call.member, allowed)
        return stored or self.with_signature(call.signature, allowed)

    def passed_to_callers(self, function: Function) -> tuple[str, ...]:
        """Functions that are handed to a library function which calls them at once."""
        if CALLS_ITS_ARGUMENTS.isdisjoint(function.calls):
            return ()
        return function.takes

    def _add(self, number: int, name: str) -> None:
        unit = self._units[number]
        if name in unit.functions:
            declaration = unit.functions[name].declaration
        elif name in unit.declarations:
            declaration = unit.declarations[name]
        else:
            return
        parameters = _parameters(declaration.signature)
        self._by_parameters[parameters][number, name] = None
        self._names.add((number, name))


class Members:
    """What the program stores into members and variables that hold functions."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._stored: dict[str, dict[tuple[int, str | None], None]] = defaultdict(dict)
        for number, unit in enumerate(units):
            stores = [s for g in unit.globals.values() for s in g.member_stores]
            stores += [s for f in unit.functions.values() for s in f.member_stores]
            for store in stores:
                key = self._key(number, store.member)
                self._stored[key][number, store.function] = None

    def stored(
        self, unit: int, member: str | None, units: frozenset[int]
    ) -> list[Symbol] | None:
        """All functions the member can hold; None when something else may be there."""
        if member is None:
            return None
        found = self._stored.get(self._key(unit, member), {})
        linked = [(number, name) for number, name in found if number in units]
        known = [(number, name) for number, name in linked if name is not None]
        return known if len(known) == len(linked) else None

    def _key(self, unit: int, member: str) -> str:
        """Variables of one unit only are told apart from others of their name."""
        name = member[1:].rpartition("+")[0]
        variable = self._units[unit].globals.get(name) if member[0] == "@" else None
        if variable is not None and variable.linkage is Linkage.INTERNAL:
            return f"{unit}{member}"
        return member


def _parameters(signature: str) -> tuple[str, ...]:
    """Types of the named parameters of "p(p,i32,...)"."""
    inner = signature[signature.index("(") + 1 : -1]
    return tuple(word for word in inner.split(",") if word not in {"", "..."})


def _named(unit: int, constant: Constant) -> list[Symbol] | None:
    return [(unit, constant.name)] if isinstance(constant, FunctionConstant) else None


def _addresses(unit: Unit) -> Iterable[str]:
    """Names whose address is taken in a unit, in a fixed order, without repeats."""
    names: dict[str, None] = {}
    for variable in unit.globals.values():
        for initial in variable.initialiser:
            if isinstance(initial.constant, FunctionConstant):
                names[initial.constant.name] = None
    for function in unit.functions.values():
        names.update(dict.fromkeys(function.takes))
    return names
