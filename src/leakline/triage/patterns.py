"""Wildcard patterns as Valgrind and LeakSanitizer write them, made into matchers.

Both take time linear in the name for each star: a chunk between stars is matched at
its first place and never tried again, which is enough because a star can take the rest.
"""

import re
from collections.abc import Callable
from functools import cache

Matcher = Callable[[str], bool]


@cache
def valgrind_pattern(text: str) -> Matcher:
    """Matches whole names; `*` is any run of characters and `?` any one."""
    chunks = [_literal_or_any_one(chunk) for chunk in text.split("*")]
    return _matcher(chunks)


@cache
def lsan_pattern(text: str) -> Matcher:
    """Matches any part of a name; `*` is a run, `^` and `$` bind it to the ends."""
    body = text.removeprefix("^").removesuffix("$")
    chunks = [re.escape(chunk) for chunk in body.split("*")]
    if not text.startswith("^"):
        chunks.insert(0, "")
    if not text.endswith("$"):
        chunks.append("")
    return _matcher(chunks)


def _matcher(chunks: list[str]) -> Matcher:
    """Matches the chunks in their order, with anything between them."""
    first, *others = chunks
    if others:
        *middle, last = others
        jumps = "".join(f"(?>.*?{chunk})" for chunk in middle if chunk)
        expression = f"{first}{jumps}.*{last}"
    else:
        expression = first
    matches = re.compile(expression, re.DOTALL).fullmatch
    return lambda name: matches(name) is not None


def _literal_or_any_one(chunk: str) -> str:
    return re.escape(chunk).replace(r"\?", ".")
