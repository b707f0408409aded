"""Places as sentences name them: file and line, with the source where it can be read."""

from leakline.model.stack import Frame, Stack
from leakline.reports.places import frames_worth_showing, is_own_code, relative_path
from leakline.reports.printable import printable
from leakline.reports.source import source_lines
from leakline.reports.style import Style


class Spots:
    """Names places in one style."""

    def __init__(self, style: Style) -> None:
        self._style = style

    def place(self, frame: Frame) -> str:
        """`file:line`, else the module and offset."""
        if frame.file:
            file = printable(relative_path(frame.file, self._style.folder))
            return f"{file}:{frame.line}" if frame.line else file
        return printable(f"{frame.module.rpartition('/')[2]}+{frame.offset:#x}")

    def source(self, file: str, line: int) -> str | None:
        """The line of source, None when it cannot be read or must not be shown."""
        if not self._style.with_source:
            return None
        original = self._style.originals.get(file, file)
        for number, text in source_lines(original, line, self._style.folder):
            if number == line:
                return f"{line:>6} | {text}"
        return None

    def own_frames(self, stack: Stack) -> list[Frame]:
        """The user's own calls on a stack, innermost first."""
        return [one for one in frames_worth_showing(stack) if is_own_code(one)]
