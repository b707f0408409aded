"""Call stacks as people read them: named frames, innermost first."""

from dataclasses import dataclass
from enum import Enum


class Naming(Enum):
    """How a frame's function name was found."""

    DEBUG_INFO = "debug-info"
    SYMBOL = "symbol"  # the enclosing symbol of the symbol table
    NEAREST = "nearest-symbol"  # stripped file: the last exported symbol before it
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on a stack.

    Attributes:
        function: Demangled name; empty when unknown.
        file: Source path as the debug information gives it; empty when unknown.
        line: Source line, 0 when unknown.
        module: Path of the program or library; empty for source-only frames.
        offset: Address of the call relative to the module's load base.
        inlined: The frame is a call that the compiler inlined into the next frame.
        naming: Where `function` comes from.
        column: Source column, 0 when unknown.
        symbol: Linkage name, as suppressions of other tools spell it; empty when it is
            not known or the same as `function`.
    """

    function: str = ""
    file: str = ""
    line: int = 0
    module: str = ""
    offset: int = 0
    inlined: bool = False
    naming: Naming = Naming.DEBUG_INFO
    column: int = 0
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """A call stack.

    Attributes:
        frames: Innermost call first.
        folded_at: Index in `frames` before which deeper frames were folded, or None
            when the stack is complete.
        stopped: Why the walk ended before the outermost frame; empty when it did not.
    """

    frames: tuple[Frame, ...] = ()
    folded_at: int | None = None
    stopped: str = ""
