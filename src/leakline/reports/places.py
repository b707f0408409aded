"""Where frames lie: paths as people want to read them, and whose code it is."""

from pathlib import Path

from leakline.model.stack import Frame, Stack

# Code below these folders was installed, not written by the reader of the report.
_SYSTEM_FOLDERS = ("/usr/", "/lib/", "/lib64/", "/opt/", "/nix/store/")
_OWN_CODE_FOLDERS = ("/usr/src/", "/usr/local/src/")

# What runs before and below `main` and thread functions, in every program alike.
_BELOW_MAIN = frozenset(
    [
        "__libc_start_call_main",
        "__libc_start_main",
        "__libc_start_main_impl",
        "__libc_start_main@@GLIBC_2.34",
        "_start",
        "start_thread",
        "clone",
        "clone3",
        "__clone3",
    ]
)


def relative_path(path: str, folder: Path) -> str:
    """The path relative to `folder` if it lies below it, else as it is."""
    prefix = f"{folder}/"
    return path.removeprefix(prefix) if len(path) > len(prefix) else path


def is_own_code(frame: Frame) -> bool:
    """Whether the frame is in code that the user probably wrote."""
    if frame.file:
        if frame.file.startswith(_OWN_CODE_FOLDERS):
            return True
        return not frame.file.startswith(_SYSTEM_FOLDERS)
    return bool(frame.module) and not frame.module.startswith(_SYSTEM_FOLDERS)


def first_own_frame(stack: Stack) -> Frame | None:
    """The frame nearest to the event that is the user's own code."""
    return next((frame for frame in stack.frames if is_own_code(frame)), None)


def frames_worth_showing(stack: Stack) -> tuple[Frame, ...]:
    """The frames without the start-up code below `main`; all if nothing were left."""
    frames = stack.frames
    if stack.folded_at is not None:
        return frames
    count = len(frames)
    while count > 1 and frames[count - 1].function in _BELOW_MAIN:
        count -= 1
    return frames[:count]
