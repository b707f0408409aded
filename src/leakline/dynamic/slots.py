"""Names the slot that held a reference which a store overwrote or a free took away.

Or the end of a thread, with which its variables go.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.lvalues import Lvalue, Lvalues
from leakline.symbols.locals import Place
from leakline.symbols.resolve import Address

# The offset that the runtime records when the slot lies further away.
FAR_OFFSET = 0xFFF * 8

_INDEX = re.compile(r"\[\d+\]")
_RESERVED = re.compile(r"\*?__\w")
_LIBC = re.compile(r"lib(c|pthread)[.-]")
_FIRST = re.compile(r"^\*(.*)$")
_OTHERS_NAMED = 3


def slot_of_store(reader: CodeReader, store: Address) -> str | None:
    """The variable or field that the store at an address overwrites, if known."""
    return _name(Lvalues(reader, store.module).stored_by(store.offset))


def slot_in_freed(reader: CodeReader, call: Address, offset: int) -> str | None:
    """The field at an offset of what a call frees, if known.

    Args:
        reader: Opens the module.
        call: An address inside the call of the freeing function.
        offset: Of the slot in the block.
    """
    if offset >= FAR_OFFSET:
        return None
    return _name(Lvalues(reader, call.module).in_argument(call.offset + 1, offset))


def _name(place: Lvalue | None) -> str | None:
    """What a place is called; variables of a library's templates say nothing."""
    if place is None or _RESERVED.match(place.text):
        return None
    return place.text


def one_name(names: Sequence[str | None]) -> tuple[str | None, str]:
    """One name for several slots, and how others are called that it does not cover."""
    known = dict.fromkeys(name for name in names if name is not None)
    shapes: dict[str, list[str]] = {}
    for name in known:
        first = _FIRST.sub(r"\1[0]", name)
        shapes.setdefault(_INDEX.sub("[...]", first), []).append(name)
    texts = [shape if len(alike) > 1 else alike[0] for shape, alike in shapes.items()]
    others = [f"`{text}`" for text in texts[1:]]
    if len(others) > _OTHERS_NAMED:
        others[_OTHERS_NAMED:] = [f"{len(others) - _OTHERS_NAMED} other slots"]
    return texts[0] if texts else None, ", ".join(others)


def slot_in_first_frame(
    reader: CodeReader, calls: Sequence[Address], offset: int
) -> str | None:
    """The local variable so far below the CFA of a thread's first function.

    Args:
        reader: Opens the modules.
        calls: The stack of the thread, innermost first. Its outermost calls are those
            of the C library, which starts threads.
        offset: From the variable to the CFA, in bytes.
    """
    own = [one for one in calls if not _LIBC.match(PurePosixPath(one.module.path).name)]
    if not own or not 0 < offset < FAR_OFFSET:
        return None
    found = reader.locals_at(own[-1].module, own[-1].offset, Place(None, -offset))
    return found[0].name if found else None


def thread_variable(
    reader: CodeReader, calls: Iterable[Address], offset: int
) -> str | None:
    """The thread-local variable of a program so far below the thread pointer.

    Args:
        reader: Opens the modules.
        calls: Code that may be the program's, and may know the variable's type.
        offset: From the variable to the thread pointer, in bytes.
    """
    if not 0 < offset < FAR_OFFSET:
        return None
    names = (
        Lvalues(reader, one.module).of_thread(one.offset, -offset) for one in calls
    )
    return next((place.text for place in names if place is not None), None)
