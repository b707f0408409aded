"""One fact that `leakline doctor` states, and whether it is good news."""

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """What a fact means for watching the program."""

    GOOD = "ok"
    LIMITED = "limited"
    BAD = "no"


class Observation(NamedTuple):
    """A fact: what it is about, what it means, and the words for it."""

    subject: str
    state: State
    words: str
