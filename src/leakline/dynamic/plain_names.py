"""Function names without what depends on the build.

A compiler names an inlined call without its namespaces, parameters and result; the same
function that was not inlined has them all.
"""

import re
from functools import lru_cache

_OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|[^\w\s(]+|[^(]*)")
_OPENING = "<({["
_CLOSING = ">)}]"


@lru_cache(maxsize=1 << 16)
def plain_name(function: str) -> str:
    """The last part of a name, with its template arguments."""
    operators = list(_OPERATOR.finditer(function))
    if operators:
        return _without_spaces(f"operator{operators[-1][1]}")
    start = 0
    depth = 0
    for index, character in enumerate(function):
        if character == "(" and depth == 0 and not _is_qualifier(function, index):
            return _without_spaces(function[start:index]) or function
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0 and character in " :":
            start = index + 1
    return _without_spaces(function[start:]) or function


def _is_qualifier(function: str, opening: int) -> bool:
    """Whether the bracket is part of a scope, as in `(anonymous namespace)::f()`."""
    depth = 0
    for index in range(opening, len(function)):
        if function[index] == "(":
            depth += 1
        elif function[index] == ")":
            depth -= 1
            if depth == 0:
                return function.startswith("::", index + 1)
    return False


def _without_spaces(name: str) -> str:
    return name.replace(" ", "")
