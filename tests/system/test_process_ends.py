"""A process ends in its own way under the runtime, and leaves its report."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.recording._format import (
    ExecFailedRecord,
    ExecRecord,
    ProcessEndRecord,
    SnapshotBeginRecord,
    Trigger,
)
from leakline.recording.create import create_recording

from .preload import environment, run_both_ways

LOST_BYTES = 321

ENDS = {
    "return": (Trigger.EXIT, 3),
    "exit": (Trigger.EXIT, 4),
    "_exit": (Trigger.QUICK_EXIT, 5),
    "_Exit": (Trigger.QUICK_EXIT, 6),
    "quick_exit": (Trigger.QUICK_EXIT, 0xFFFFFFFF),
    "handler": (Trigger.QUICK_EXIT, 31),
    "thread-exit": (Trigger.EXIT, 12),
    "abort": (Trigger.SIGNAL, signal.SIGABRT),
    "thread-abort": (Trigger.SIGNAL, signal.SIGABRT),
    "null": (Trigger.SIGNAL, signal.SIGSEGV),
    "division": (Trigger.SIGNAL, signal.SIGFPE),
    "illegal": (Trigger.SIGNAL, signal.SIGILL),
    "trap": (Trigger.SIGNAL, signal.SIGTRAP),
    "pipe": (Trigger.SIGNAL, signal.SIGPIPE),
    "bus": (Trigger.SIGNAL, signal.SIGBUS),
    "alarm": (Trigger.SIGNAL, signal.SIGALRM),
    "sigsuspend": (Trigger.SIGNAL, signal.SIGTERM),
    "cpu": (Trigger.SIGNAL, signal.SIGXCPU),
    "fsize": (Trigger.SIGNAL, signal.SIGXFSZ),
} | {
    str(int(number)): (Trigger.SIGNAL, int(number))
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGTERM,
        signal.SIGVTALRM,
        signal.SIGPROF,
        signal.SIGIO,
        signal.SIGPWR,
        signal.SIGSYS,
    )
}


def without_core_and_with_default_signals() -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and a program would inherit that."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


@pytest.mark.parametrize("way", ENDS)
def test_each_end_stays_and_is_reported(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_ends.c", "-O1")
    recorded = run_both_ways(
        [program, way], tmp_path, without_core_and_with_default_signals
    )
    ends = recorded.of(ProcessEndRecord)
    assert [(end.trigger, end.status) for end in ends] == [ENDS[way]]
    assert LOST_BYTES in recorded.lost_bytes()


def test_the_main_thread_may_end_first(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("process_ends.c", "-O1")
    recorded = run_both_ways([program, "main-ends-first"], tmp_path)
    ends = recorded.of(ProcessEndRecord)
    assert [(end.trigger, end.status) for end in ends] == [(Trigger.EXIT, 0)]


@pytest.mark.parametrize("way", ["overflow", "9"])
def test_ends_that_leave_no_time_stay_the_same(
    way: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways(
        [build("process_ends.c", "-O1"), way],
        tmp_path,
        without_core_and_with_default_signals,
    )
    assert recorded.of(ProcessEndRecord) == []


@pytest.mark.parametrize("number", [signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH])
def test_signals_that_do_not_kill_change_nothing(
    number: int, build: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = run_both_ways(
        [build("process_ends.c", "-O1"), str(int(number))], tmp_path
    )
    assert [end.trigger for end in recorded.of(ProcessEndRecord)] == [Trigger.EXIT]


def test_ignored_signals_stay_ignored(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    recorded = run_both_ways([build("process_ends.c", "-O1"), "1"], tmp_path, ignore)
    assert [end.status for end in recorded.of(ProcessEndRecord)] == [3]


def test_exec_is_looked_at_before(build: Callable[..., Path], tmp_path: Path) -> None:
    recorded = run_both_ways([build("process_ends.c", "-O1"), "exec"], tmp_path)
    assert LOST_BYTES in recorded.lost_bytes()
    assert [record.text for record in recorded.of(ExecRecord)] == [b"printf"]
    triggers = [begin.trigger for begin in recorded.of(SnapshotBeginRecord)]
    assert triggers == [Trigger.EXEC, Trigger.EXIT]


def test_a_failed_exec_is_told(build: Callable[..., Path], tmp_path: Path) -> None:
    recorded = run_both_ways([build("process_ends.c", "-O1"), "exec-fails"], tmp_path)
    errors = [record.error for record in recorded.of(ExecFailedRecord)]
    assert errors == [2, 2]
    assert [end.status for end in recorded.of(ProcessEndRecord)] == [3]


def test_core_dump_flag_stays(build: Callable[..., Path], tmp_path: Path) -> None:
    """The kernel reports whether a core was dumped; the file itself is not wanted."""
    program = str(build("process_ends.c", "-O1"))

    def wait_status(env: dict[str, str]) -> int:
        pid = os.fork()
        if pid == 0:
            os.chdir(tmp_path)
            resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.execve(program, [program, "abort"], env)  # noqa: S606 - raw wait status
        return os.waitpid(pid, 0)[1]

    create_recording(tmp_path / "recording")
    native = wait_status(dict(os.environ))
    assert wait_status(environment(tmp_path / "recording")) == native
