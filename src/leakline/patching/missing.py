"""Which plans a run missed, from its recording."""

from pathlib import Path

from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted
from leakline.recording._format import NotSeen, NotSeenRecord, OptionRecord
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
    births = False
    missed: dict[tuple[PlanKind, Path], None] = {}
    with open_recording(recording) as opened:
        for _, record in opened.records():
            if isinstance(record, OptionRecord):
                births = births or record.text == b"births=1"
            elif (
                isinstance(record, NotSeenRecord)
                and record.reason in _KINDS
                and record.detail in _UNUSABLE
            ):
                missed[_KINDS[NotSeen(record.reason)], _module(record)] = None
    return [Wanted(_kind(kind, births=births), module) for kind, module in missed]


def _kind(kind: PlanKind, *, births: bool) -> PlanKind:
    return PlanKind.BIRTHS if births and kind is PlanKind.LOSS else kind


def _module(record: NotSeenRecord) -> Path:
    text = record.text.decode(errors="surrogateescape")
    return Path(text.partition(": ")[2])
