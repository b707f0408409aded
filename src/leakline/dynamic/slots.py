"""Names the slot that held a reference which a store overwrote or a free took away."""

from leakline.dynamic.code_reader import CodeReader
from leakline.dynamic.lvalues import Lvalues
from leakline.symbols.resolve import Address

# The offset that the runtime records when the slot lies further inside the block.
FAR_OFFSET = 0xFFF * 8


def slot_of_store(reader: CodeReader, store: Address) -> str | None:
    """The variable or field that the store at an address overwrites, if known."""
    place = Lvalues(reader, store.module).stored_by(store.offset)
    return place.text if place is not None else None


def slot_in_freed(reader: CodeReader, call: Address, offset: int) -> str | None:
    """The field at an offset of what a call frees, if known.

    Args:
        reader: Opens the module.
        call: An address inside the call of the freeing function.
        offset: Of the slot in the block.
    """
    if offset >= FAR_OFFSET:
        return None
    place = Lvalues(reader, call.module).in_argument(call.offset + 1, offset)
    return place.text if place is not None else None
