"""Processes that do a part of the work."""

import os
import select
import signal
import subprocess
import sys
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


START = """
import os, signal
from leakline.workers import worker_processes
workers = worker_processes(1)
print(workers.submit(os.getpid).result(), flush=True)
signal.pause()
"""


def test_a_worker_ends_with_a_parent_that_was_killed() -> None:
    command = [sys.executable, "-c", START]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    try:
        assert select.select([worker], [], [], 60)[0]
    finally:
        os.close(worker)
