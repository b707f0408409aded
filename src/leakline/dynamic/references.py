"""Names the slots that refer to blocks which are not lost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.lvalues import Lvalues
from leakline.dynamic.merge import SlotKey
from leakline.dynamic.sites import birth_stack
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Reference
from leakline.model.stack import Stack
from leakline.symbols.resolve import Address

# More kinds of slots than this tell no more about a leak.
_MOST = 8


@dataclass(slots=True)
class References:
    """Makes references of slots."""

    builder: StackBuilder
    reader: CodeReader

    def describe(
        self, slots: Mapping[SlotKey, int], stack: int
    ) -> tuple[Reference, ...]:
        """The references by some slots to what a stack allocated, the most first."""
        found: dict[str, Reference] = {}
        for (variable, holder, offset, birth), count in self._named(slots, stack):
            one = Reference(
                slot=variable,
                slots=count,
                offset=offset,
                holder=self.builder.stack(holder) if holder else None,
                birth=birth_stack(birth, self.builder) if birth else None,
            )
            before = found.setdefault(_read_as(one), replace(one, slots=0))
            found[_read_as(one)] = replace(before, slots=before.slots + count)
        ranked = sorted(found.items(), key=lambda item: (-item[1].slots, item[0]))
        return tuple(one for _, one in ranked[:_MOST])

    def _named(
        self, slots: Mapping[SlotKey, int], stack: int
    ) -> Iterator[tuple[tuple[str | None, int, int, int], int]]:
        """Slots by name, holder, offset and birth, with their numbers.

        The slots of one array are alike: they have one name together.
        """
        variables: dict[tuple[str, int], list[SlotKey]] = {}
        for key in slots:
            if key.is_variable:
                symbol = self._symbol(self._address(key.holder))
                variables.setdefault((symbol, key.birth), []).append(key)
            else:
                name = self._field(key)
                yield (name, key.holder, key.offset, key.birth), slots[key]
        for (symbol, birth), alike in variables.items():
            several = len(alike) > 1
            name = f"{symbol}[...]" if several else self._whole_name(alike[0], stack)
            yield (name or None, 0, 0, birth), sum(slots[key] for key in alike)

    def _address(self, number: int) -> Address:
        return self.builder.table.addresses[self.builder.table.calls[number].address]

    def _field(self, key: SlotKey) -> str | None:
        """The field, by the code that stored the reference."""
        if not key.birth:
            return None
        store = self._address(key.birth)
        lvalues = Lvalues(self.reader, store.module)
        place = lvalues.stored_in_block(store.offset, key.offset)
        return place.text if place is not None else None

    def _symbol(self, at: Address) -> str:
        opened = self.reader.open(at.module)
        found = opened.symbols.find(at.offset) if opened is not None else None
        return found[0] if found is not None else ""

    def _whole_name(self, key: SlotKey, stack: int) -> str:
        """The variable with its member, by the code that stored or allocated."""
        at = self._address(key.holder)
        lvalues = Lvalues(self.reader, at.module)
        calls = [*self.builder.calls(key.birth), *self.builder.calls(stack)]
        places = [self.builder.table.addresses[call.address] for call in calls]
        offsets = [place.offset for place in places if place.module == at.module]
        return lvalues.variable_at(at.offset, offsets) or ""


def _read_as(reference: Reference) -> str:
    """What a reader sees: code that the compiler copied is one place."""
    stacks = [_lines(reference.holder), _lines(reference.birth)]
    return f"{reference.slot} {reference.offset} {stacks}"


def _lines(stack: Stack | None) -> list[tuple[str, str, int]]:
    frames = stack.frames if stack is not None else ()
    return [(frame.function, frame.file, frame.line) for frame in frames]
