"""Which plans a run missed, from its recording."""

from pathlib import Path

from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted
from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.reader import open_recording

# Verdicts on a plan that the runtime writes as the detail of its note: missing, unsafe,
# damaged. Those that are neither are not made again.
_UNUSABLE = (1, 2, 3)


_KINDS = {NotSeen.LOSSES: PlanKind.LOSS, NotSeen.ACCESSES: PlanKind.ACCESSES}


def missing_plans(recording: Path) -> list[Wanted]:
    """Return the plans that were missing or not used, each once, in their order.

    Raises:
        RecordingError: The file is no recording that can be read.
    """
    with open_recording(recording) as opened:
        missed = [
            (_KINDS[NotSeen(record.reason)], _module(record))
            for _, record in opened.records()
            if isinstance(record, NotSeenRecord)
            and record.reason in _KINDS
            and record.detail in _UNUSABLE
        ]
    return [Wanted(kind, module) for kind, module in dict.fromkeys(missed)]


def _module(record: NotSeenRecord) -> Path:
    text = record.text.decode(errors="surrogateescape")
    return Path(text.partition(": ")[2])
