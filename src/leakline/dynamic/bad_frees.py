"""Tells where a program freed or resized what is no block.

The text of such a record is a sentence and a line per caller, `MODULE+0xADDRESS`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from leakline.model.stack import Frame, Naming
from leakline.symbols.resolve import Address, Module, resolve

_CALLER = re.compile(r"(.+)\+0x([0-9a-f]{1,16})", re.DOTALL)
# Different places that are told apart; a program may do it everywhere.
_PLACES = 10


def bad_frees(texts: Iterable[str], recorded_ns: int) -> Iterator[str]:
    """A sentence for each place, with how often it was; no full stop at its end."""
    counted = Counter(texts)
    for text, count in counted.most_common(_PLACES):
        sentence, *lines = text.split("\n")
        times = f" ({count} times)" if count > 1 else ""
        yield f"{sentence}{times}{_place(lines, recorded_ns)}"
    elsewhere = counted.total() - sum(n for _, n in counted.most_common(_PLACES))
    if elsewhere:
        yield f"the same happened {elsewhere} times at other places"


def _place(lines: list[str], recorded_ns: int) -> str:
    addresses = [
        Address(Module(match[1], b""), int(match[2], 16))
        for match in map(_CALLER.fullmatch, lines)
        if match
    ]
    requests = {
        address.module: [
            one.offset for one in addresses if one.module == address.module
        ]
        for address in addresses
    }
    named = resolve(requests, recorded_ns=recorded_ns).frames
    frames = [frame for address in addresses for frame in named[address]]
    return "".join(
        f"{', called by' if index else ', by'} {_words(frame)}"
        for index, frame in enumerate(_up_to_main(frames))
    )


def _up_to_main(frames: list[Frame]) -> list[Frame]:
    """What called `main` is never of interest."""
    names = [frame.function for frame in frames]
    return frames[: names.index("main") + 1] if "main" in names else frames


def _words(frame: Frame) -> str:
    file = frame.file.rpartition("/")[2]
    module = frame.module.rpartition("/")[2]
    place = f"{file}:{frame.line}" if file else f"{module}+{frame.offset:#x}"
    if not frame.function:
        return place
    near = "code near " if frame.naming is Naming.NEAREST else ""
    return f"{near}{frame.function} ({place})"
