"""Which modules a run met without a plan, from its recording."""

from pathlib import Path

from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.reader import open_recording

# The verdict on a plan that the runtime writes as the detail of its note.
MISSING = 1


def modules_without_plan(recording: Path) -> list[Path]:
    """Return the files of the modules, each once, in the order they were met.

    Raises:
        RecordingError: The file is no recording that can be read.
    """
    with open_recording(recording) as opened:
        texts = [
            record.text.decode(errors="surrogateescape")
            for _, record in opened.records()
            if isinstance(record, NotSeenRecord)
            and (record.reason, record.detail) == (NotSeen.LOSSES, MISSING)
        ]
    return [Path(text.partition(": ")[2]) for text in dict.fromkeys(texts)]
