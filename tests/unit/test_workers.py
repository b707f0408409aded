"""Processes that do a part of the work."""

import os
import signal
from concurrent.futures.process import BrokenProcessPool

import pytest

from leakline.workers import worker_processes


def test_an_interrupt_ends_a_worker_without_a_word(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with worker_processes(1) as workers:
        pid = workers.submit(os.getpid).result()
        waiting = workers.submit(signal.pause)
        os.kill(pid, signal.SIGINT)
        with pytest.raises(BrokenProcessPool):
            waiting.result()
    assert capfd.readouterr().err == ""
