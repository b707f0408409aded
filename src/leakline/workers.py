"""Processes that do a part of the work of a command."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor


def worker_processes(count: int | None = None) -> ProcessPoolExecutor:
    """So many processes, else one for each processor; they inherit all memory.

    Ctrl-C ends them without a word: the process that started them says what there is
    to say.
    """
    return ProcessPoolExecutor(
        count or os.cpu_count(),
        mp_context=multiprocessing.get_context("fork"),
        initializer=_end_quietly,
    )


def _end_quietly() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
