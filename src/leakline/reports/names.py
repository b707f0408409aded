"""C++ names as people write them, without what the standard library fills in.

Reports for tools keep the full names.
"""

import re
from functools import lru_cache

_INLINE_NAMESPACE = re.compile(r"\bstd::(__cxx11|__1)::")
# Template parameters of containers, strings and pointers that are hardly ever given.
_DEFAULT_ARGUMENT = re.compile(
    r", ?std::(allocator|char_traits|less|hash|equal_to|default_delete)<"
)
_STRINGS = (
    (re.compile(r"\bstd::basic_string<char>"), "std::string"),
    (re.compile(r"\bstd::basic_string<wchar_t>"), "std::wstring"),
    (re.compile(r"\bstd::basic_string_view<char>"), "std::string_view"),
)


@lru_cache(maxsize=1 << 16)
def readable_name(function: str) -> str:
    """The name without inline namespaces and default template arguments."""
    if "std::" not in function:
        return function
    name = _INLINE_NAMESPACE.sub("std::", function)
    # From the last to the first: only arguments at the end of a list are left out.
    for match in reversed(list(_DEFAULT_ARGUMENT.finditer(name))):
        end = _closing_bracket(name, match.end())
        if end is not None and name[end:].lstrip(" ").startswith(">"):
            name = name[: match.start()] + name[end:].lstrip(" ")
    for pattern, short in _STRINGS:
        name = pattern.sub(short, name)
    return name


def _closing_bracket(name: str, start: int) -> int | None:
    """Where the bracket that was opened just before `start` has been closed."""
    depth = 1
    for index in range(start, len(name)):
        if name[index] == "<":
            depth += 1
        elif name[index] == ">" and name[index - 1] != "-":
            depth -= 1
            if depth == 0:
                return index + 1
    return None
