"""A program sees its signals as it set them."""

from collections.abc import Callable
from pathlib import Path

from leakline.recording._format import ProcessEndRecord

from .preload import run_both_ways


def test_actions_and_masks_look_the_same(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways([build("process_signals.c", "-O1")], tmp_path)
    assert len(recorded.of(ProcessEndRecord)) == 1
