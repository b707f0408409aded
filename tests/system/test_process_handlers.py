"""Signal handlers may end, allocate or fork wherever they interrupt the program.

Without the runtime libc's allocator could deadlock here, so there is nothing to compare
with.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import ProcessEndRecord, Trigger
from leakline.recording.create import create_recording

from .preload import environment, read, run

DONE = 42


@pytest.mark.parametrize("interval_us", [700, 1100, 1900, 3700, 9100])
@pytest.mark.parametrize("mode", ["exit", "allocate", "fork"])
def test_a_handler_may_do_it(
    mode: str, interval_us: int, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_handlers.c", "-O2")
    recording = tmp_path / "recording"
    create_recording(recording)
    ended = run([program, mode, str(interval_us)], environment(recording))
    assert ended.status == DONE
    ends = read(recording).of(ProcessEndRecord)
    assert (ends[-1].trigger, ends[-1].status) == (Trigger.QUICK_EXIT, DONE)
