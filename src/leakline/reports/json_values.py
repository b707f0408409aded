"""Values of a JSON document that anyone may have written, asked for by key and type."""

from collections.abc import Callable
from enum import Enum
from math import isfinite
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class ForeignError(Exception):
    """A value that no document of ours has; the message says which."""


def refuse(why: str) -> NoReturn:
    """Says why the document is none of ours."""
    raise ForeignError(why)


class JsonObject:
    """A JSON object whose members are asked for by key and type."""

    def __init__(self, value: object, key: str) -> None:
        if not isinstance(value, dict):
            refuse(f"{key} is not an object")
        self._members: dict[str, Any] = value

    def text(self, key: str) -> str:
        """A string."""
        return _encodable(self._of_type(key, str), key)

    def optional_text(self, key: str) -> str | None:
        """A string or null."""
        return None if self._members.get(key) is None else self.text(key)

    def count(self, key: str) -> int:
        """A whole number that is not negative."""
        value = int(self._of_type(key, int))
        return value if value >= 0 else refuse(f"{key} is negative")

    def optional_count(self, key: str) -> int | None:
        """A whole number that is not negative, or null."""
        return None if self._members.get(key) is None else self.count(key)

    def flag(self, key: str) -> bool:
        """True or false."""
        return bool(self._of_type(key, bool))

    def optional_flag(self, key: str) -> bool:
        """True or false; false where reports of earlier versions do not say."""
        return key in self._members and self.flag(key)

    def number(self, key: str) -> float | None:
        """A number or null."""
        value = self._members.get(key)
        if value is None:
            return None
        if type(value) not in (int, float) or not _is_finite(value):
            refuse(f"{key} is not a number")
        return float(value)

    def choice(self, key: str, choices: type[E]) -> E:
        """A string that names a member of an enumeration."""
        return choice(self.text(key), key, choices)

    def pairs(self, key: str) -> list[tuple[str, Any]]:
        """The members of an object."""
        return list(self._of_type(key, dict).items())

    def choices(self, key: str, choices: type[E]) -> tuple[E, ...]:
        """A list of strings that name members of an enumeration."""
        return tuple(choice(value, key, choices) for value in self._list(key))

    def plain_members(self) -> tuple[object, ...]:
        """All members, to tell objects that hold no others from each other."""
        members = tuple((*one, type(one[1])) for one in self._members.items())
        try:
            hash(members)
        except TypeError:
            refuse("an object holds another one where none belongs")
        return members

    def one(self, key: str, read: Callable[["JsonObject"], T]) -> T:
        """An object, as `read` understands it."""
        return read(JsonObject(self._members.get(key), key))

    def optional(self, key: str, read: Callable[["JsonObject"], T]) -> T | None:
        """An object or null."""
        return None if self._members.get(key) is None else self.one(key, read)

    def many(self, key: str, read: Callable[["JsonObject"], T]) -> tuple[T, ...]:
        """A list of objects; null is an empty one, here and below."""
        return tuple(read(JsonObject(value, key)) for value in self._list(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(_encodable(value, key) for value in self._all_of(key, str))

    def counts(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        return tuple(self._all_of(key, int))

    def _all_of(self, key: str, kind: type[T]) -> list[T]:
        values = self._list(key)
        if any(type(value) is not kind for value in values):
            refuse(f"{key} holds a value of another type")
        return values

    def _list(self, key: str) -> list[Any]:
        values = self._members.get(key)
        if values is None:
            return []
        if not isinstance(values, list):
            refuse(f"{key} is not a list")
        return values

    def _of_type(self, key: str, kind: type[T]) -> T:
        value = self._members.get(key)
        if type(value) is not kind:
            refuse(f"{key} is missing or of another type")
        return value


def _encodable(text: str, key: str) -> str:
    """Text that can be written; bytes of file names that are no text may be in it."""
    try:
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        refuse(f"{key} holds half a character")
    return text


def _is_finite(value: float) -> bool:
    """Whether the number fits a float: JSON has whole numbers of any length."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def choice(value: object, key: str, choices: type[E]) -> E:
    """The member of an enumeration that has this value."""
    for one in choices:
        if one.value == value:
            return one
    refuse(f"{key} has a value that this version does not know")
