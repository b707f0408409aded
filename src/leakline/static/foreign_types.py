"""Types of variables that another unit defines.

A compiler describes the type of a variable only where it is defined. A unit that merely
uses the variable adopts the description, with all types it refers to, at the end of its
own table, so that every type index of a unit means its own table.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from leakline.static.facts import Field, SourceType


class Adoption:
    """The type table of one unit, growing by types of other units."""

    def __init__(self, types: Sequence[SourceType]) -> None:
        self.types = list(types)
        self._adopted: dict[tuple[int, int], int] = {}

    def adopt(self, unit: int, types: Sequence[SourceType], index: int) -> int:
        """Index here of a type in the table of `unit`."""
        start = len(self.types)
        adopted = self._place(unit, types, index)
        # Members find their own places meanwhile, so the table grows as it is read.
        for place, original in enumerate(islice(self.types, start, None), start):
            self.types[place] = replace(
                original,
                target=self._place(unit, types, original.target),
                fields=tuple(
                    Field(f.name, f.offset_bits, self._place(unit, types, f.type))
                    for f in original.fields
                ),
            )
        return adopted

    def _place(self, unit: int, types: Sequence[SourceType], index: int) -> int:
        """Where a type is or will be; a new one is still in the other unit's terms."""
        if index < 0:
            return -1
        place = self._adopted.setdefault((unit, index), len(self.types))
        if place == len(self.types):
            self.types.append(types[index])
        return place
