"""Creates the file that a run will be recorded in, with nothing but its header.

Every watched program waits for this before it starts, so it imports next to nothing:
the header is spelt out here, and a test compares it with the generated layouts.
"""

import os

from leakline.errors import RecordingError

FILE_HEADER_BYTES = b"leakline" + (1).to_bytes(4, "little") + bytes(4)


def create_recording(path: str | os.PathLike[str]) -> None:
    """Makes a new recording that only its owner can read.

    An existing file or link is never opened, so nobody can place one there first.

    Raises:
        RecordingError: The file exists or cannot be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        raise RecordingError(
            f"{path} exists already: remove it or name another file for the recording"
        ) from None
    except OSError as error:
        raise RecordingError(
            f"the recording {path} cannot be made: {error.strerror}"
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(FILE_HEADER_BYTES)
