"""The lines of single addresses, beside those that the stacks of a recording have."""

from dataclasses import dataclass, field, replace

from leakline.model.stack import Frame, Stack
from leakline.symbols.resolve import Address, resolve


@dataclass(slots=True)
class Lines:
    """Names addresses; each is looked up once."""

    _frames: dict[Address, tuple[Frame, ...]] = field(default_factory=dict)

    def frames(self, at: Address) -> tuple[Frame, ...]:
        """The calls inlined at an address, innermost first, and their function."""
        if at not in self._frames:
            self._frames |= resolve({at.module: [at.offset]}).frames
        return self._frames[at]

    def line(self, at: Address) -> int:
        """The line of an address in its function, 0 if it is not known."""
        return self.frames(at)[-1].line

    def moved(self, stack: Stack, at: Address) -> Stack:
        """A stack whose innermost function is at another of its addresses."""
        inner = 0
        while inner < len(stack.frames) and stack.frames[inner].inlined:
            inner += 1
        outer = stack.frames[inner + 1 :]
        return replace(stack, frames=(*self.frames(at), *outer), folded_at=None)
