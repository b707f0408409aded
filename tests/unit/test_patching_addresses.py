"""The addresses in trampolines are those that the runtime has."""

import re
from pathlib import Path

from leakline.patching import addresses

HEADER = Path(__file__).parents[2] / "native/runtime/patch/shadow.h"


def defined() -> dict[str, int]:
    """Return the numbers of the runtime's header."""
    numbers: dict[str, int] = {}
    for name, value in re.findall(r"#define LL_(\w+) (.+)", HEADER.read_text()):
        names = {f"LL_{other}": number for other, number in numbers.items()}
        words = value.strip("()").split(" + ")
        numbers[name] = sum(names.get(word) or int(word, 0) for word in words)
    return numbers


def test_both_sides_have_the_same_addresses() -> None:
    ours = {name: value for name, value in vars(addresses).items() if name.isupper()}
    runtime = defined()
    assert ours
    assert ours == {name: runtime[name] for name in ours}
