"""Which functions an indirect call may reach.

A function can be called through a pointer only if some code or initial value takes its
address. Of those, a call reaches the ones with its signature.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from leakline.static.facts import Body, Function, Unit
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
        self._taken: dict[str, dict[Symbol, None]] = defaultdict(dict)
        self._names: set[Symbol] = set()
        for number, unit in enumerate(units):
            for name in _addresses(unit):
                self._add(number, name)

    def is_taken(self, unit: int, name: str) -> bool:
        """Whether some unit takes the address of the function `unit` defines."""
        if (unit, name) in self._names:
            return True
        return any(
            (number, name) in self._names and name not in other.functions
            for number, other in enumerate(self._units)
        )

    def with_signature(self, signature: str, units: Iterable[int]) -> list[Symbol]:
        """Functions of a type whose address one of the units takes."""
        allowed = frozenset(units)
        return [s for s in self._taken.get(signature, ()) if s[0] in allowed]

    def targets(
        self, unit: int, body: Body, call: Call | Invoke, units: Iterable[int]
    ) -> list[Symbol] | None:
        """Functions that an indirect call may reach; None when it is not indirect."""
        if call.signature is None or isinstance(call.callee, str):
            return None
        if call.callee < 0:
            constant = body.constants[-call.callee - 1]
            return _named(unit, constant)
        return self.with_signature(call.signature, units)

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
        self._taken[declaration.signature][number, name] = None
        self._names.add((number, name))


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
