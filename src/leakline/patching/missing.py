"""Which plans a run missed, from its recording."""

from pathlib import Path

from leakline.patching.kinds import PlanKind, kinds_for
from leakline.patching.plans import Wanted
from leakline.recording._format import NotSeen, NotSeenRecord, OptionRecord
from leakline.recording.reader import open_recording

# Verdicts on a plan that the runtime writes as the detail of its note: missing, unsafe,
# damaged. Those that are neither are not made again.
_UNUSABLE = (1, 2, 3)


_LENSES = {NotSeen.LOSSES: "loss", NotSeen.ACCESSES: "accesses"}


def missing_plans(recording: Path) -> list[Wanted]:
    """Return the plans that were missing or not used, each once, in their order.

    Raises:
        RecordingError: The file is no recording that can be read.
    """
    options: set[bytes] = set()
    missed: dict[tuple[str, Path], None] = {}
    with open_recording(recording) as opened:
        for _, record in opened.records():
            if isinstance(record, OptionRecord):
                options.add(record.text)
            elif (
                isinstance(record, NotSeenRecord)
                and record.reason in _LENSES
                and record.detail in _UNUSABLE
            ):
                missed[_LENSES[NotSeen(record.reason)], _module(record)] = None
    kinds = _kinds(options)
    return [Wanted(kinds[lens], module) for lens, module in missed if lens in kinds]


def _kinds(options: set[bytes]) -> dict[str, PlanKind]:
    """Return the kind of plan that each lens of a run needs."""
    lenses = {
        lens
        for option in options
        if option.startswith(b"lens=")
        for lens in option.removeprefix(b"lens=").decode(errors="replace").split(",")
    }
    kinds = kinds_for(lenses, births=b"births=1" in options)
    return {kind.lens: kind for kind in kinds}


def _module(record: NotSeenRecord) -> Path:
    text = record.text.decode(errors="surrogateescape")
    return Path(text.partition(": ")[2])
