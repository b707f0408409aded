"""Files, frames and stacks that findings share, each written once and then numbered.

A report of ten thousand findings has few distinct frames; numbers keep it small enough
to open at once.
"""

from typing import Any

from leakline.model.stack import Frame, Naming, Stack
from leakline.reports.names import readable_name
from leakline.reports.places import frames_worth_showing, is_own_code
from leakline.reports.privacy import Privacy


class Tables:
    """The numbered lists, in the order of first use."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._files: dict[str, int] = {}
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[Stack, int] = {}
        # Many stacks are the same object: its number is found without a comparison.
        self._stacks_by_id: dict[int, int] = {}
        self._written_stacks: list[dict[str, Any]] = []
        self._places: set[tuple[str, int]] = set()

    def file(self, path: str) -> int:
        """The number of a source file."""
        return self._files.setdefault(path, len(self._files))

    def stack(self, stack: Stack) -> int:
        """The number of a stack; the caller keeps the stack alive."""
        number = self._stacks_by_id.get(id(stack))
        if number is None:
            number = self._stacks.get(stack)
            if number is None:
                number = self._stacks[stack] = len(self._stacks)
                self._written_stacks.append(self._written_stack(stack))
            self._stacks_by_id[id(stack)] = number
        return number

    def frames(self) -> list[Frame]:
        """All frames, in the order of their numbers."""
        return list(self._frames)

    def place(self, path: str, line: int) -> dict[str, int]:
        """A place in the source that belongs to no stack."""
        self._places.add((path, line))
        return {"file": self.file(path), "line": line}

    def places(self) -> list[tuple[str, int]]:
        """All such places, sorted."""
        return sorted(self._places)

    def as_json(self) -> dict[str, Any]:
        """The lists, to be called when every finding has been written."""
        frames = [self._written_frame(frame) for frame in self._frames]
        return {
            "files": [self._privacy.path(path) for path in self._files],
            "frames": frames,
            "stacks": self._written_stacks,
        }

    def _written_stack(self, stack: Stack) -> dict[str, Any]:
        shown = frames_worth_showing(stack)
        written: dict[str, Any] = {
            "frames": [
                self._frames.setdefault(frame, len(self._frames)) for frame in shown
            ]
        }
        if stack.folded_at is not None and stack.folded_at <= len(shown):
            written["folded_at"] = stack.folded_at
        if stack.stopped:
            written["stopped"] = self._privacy.text(stack.stopped)
        return written

    def _written_frame(self, frame: Frame) -> dict[str, Any]:
        # Compilers name lambdas after their place in a file.
        name = self._privacy.text(readable_name(frame.function))
        written: dict[str, Any] = {"function": name}
        if frame.file:
            written |= {"file": self.file(frame.file), "line": frame.line}
        if frame.module:
            module = self._privacy.path(frame.module)
            written |= {"module": module, "offset": frame.offset}
        if is_own_code(frame):
            written["own"] = True
        if frame.inlined:
            written["remark"] = "inlined"
        elif frame.naming is Naming.NEAREST:
            written["remark"] = "nearest symbol"
        return written
