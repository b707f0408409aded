"""Where frames lie: paths as people want to read them, and whose code it is."""

import re
from pathlib import Path

from leakline.model.stack import Frame, Stack

# Code below these folders was installed, not written by the reader of the report.
_SYSTEM = re.compile(r"/usr/(?!local/|src/)|/lib(32|64|x32)?/|/nix/store/")

# What calls `main` and thread functions, in every program alike.
_BELOW_MAIN = ("__libc_start_main", "__libc_start_call_main", "start_thread")
_C_LIBRARY = re.compile(r".*/libc(\.so\.6|-2\.\d+\.so)|.*/libpthread[^/]*")


def relative_path(path: str, folder: Path) -> str:
    """The path relative to `folder` if it lies below it, else as it is."""
    prefix = f"{str(folder).rstrip('/')}/"
    return path.removeprefix(prefix) if len(path) > len(prefix) else path


def is_own_code(frame: Frame) -> bool:
    """Whether the frame is in code that the user probably wrote."""
    if not frame.file and not frame.module:
        return False
    return not _SYSTEM.match(frame.file) and not _SYSTEM.match(frame.module)


def first_own_frame(stack: Stack) -> Frame | None:
    """The frame nearest to the event that is the user's own code."""
    return next((frame for frame in stack.frames if is_own_code(frame)), None)


def frames_worth_showing(stack: Stack) -> tuple[Frame, ...]:
    """The frames without the start-up code that calls `main` or a thread."""
    for index, frame in enumerate(stack.frames):
        if index > (stack.folded_at or 0) and _is_below_main(frame):
            return stack.frames[:index]
    return stack.frames


def _is_below_main(frame: Frame) -> bool:
    return frame.function.startswith(_BELOW_MAIN) and bool(
        _C_LIBRARY.fullmatch(frame.module)
    )
