"""Random programs of the abstract language, for hypothesis."""

from functools import cache

from hypothesis import strategies as st

from .language import (
    Allocate,
    Assign,
    Branch,
    Choice,
    Command,
    Loop,
    Read,
    Release,
    Scope,
    Write,
)

CELLS = 3
DEEPEST = 3


@st.composite
def programs(draw: st.DrawFn) -> Scope:
    """Draw a program."""
    return draw(_scopes((), 0))


@st.composite
def _scopes(draw: st.DrawFn, outer: tuple[str, ...], depth: int) -> Scope:
    """Draw a scope with its own variables, which are named by their depth."""
    count = draw(st.integers(1 if depth == 0 else 0, 3))
    own = [f"v{depth}{letter}" for letter in "abc"[:count]]
    visible = (*outer, *own)
    length = draw(st.integers(0, 10 if depth == 0 else 5))
    body = [draw(_commands(visible, depth)) for _ in range(length)]
    return Scope(own, body)


# To make strategies takes much longer than to draw from them.
@cache
def _commands(visible: tuple[str, ...], depth: int) -> st.SearchStrategy[Command]:
    variable = st.sampled_from(visible)
    source = st.sampled_from((*visible, ""))
    offset = st.sampled_from((0, 0, 0, 1, 2, CELLS))
    simple: list[st.SearchStrategy[Command]] = [
        st.builds(Allocate, variable, st.integers(1, CELLS)),
        st.builds(Allocate, variable, st.just(CELLS)),
        st.builds(Assign, variable, source, offset),
        st.builds(Write, variable, offset, source),
        st.builds(Write, variable, offset, variable),
        st.builds(Read, variable, variable, offset),
        st.builds(Release, variable),
    ]
    if depth >= DEEPEST:
        return st.one_of(simple)
    number = st.integers(0, 1)
    # Ways that differ in nothing but who holds what meet most often.
    passing = st.lists(st.builds(Assign, variable, source, offset), max_size=2)
    short = st.builds(Scope, st.just([]), passing)
    scope = _scopes(visible, depth + 1)
    nested: list[st.SearchStrategy[Command]] = [
        scope,
        st.builds(Branch, variable, scope, scope),
        st.builds(Choice, number, number, scope, scope),
        st.builds(Choice, number, number, short, short),
        st.builds(Loop, st.integers(0, 3), st.booleans(), scope),
    ]
    return st.one_of(*simple, *simple, *nested)
