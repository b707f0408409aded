"""Processes that do a part of the work of a command."""

import ctypes
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def worker_processes(count: int | None = None) -> ProcessPoolExecutor:
    """So many processes, else one for each processor; they inherit all memory.

    Ctrl-C ends them without a word: the process that started them says what there is
    to say. They end with the thread that started them, also when it was killed.
    """
    return ProcessPoolExecutor(
        count or os.cpu_count(),
        mp_context=multiprocessing.get_context("fork"),
        initializer=_start,
        initargs=(os.getpid(),),
    )


def _start(parent: int) -> None:
    _end_with(parent)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_with(parent: int) -> None:
    """Else a worker waits for tasks for ever: it holds the pipes they come by open."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
