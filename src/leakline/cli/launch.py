"""Starts the program as its caller would have and waits for it.

The program gets our standard streams, folder, umask and place in the terminal's
foreground group; every signal meant for it reaches it, and we outlive it to report.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from leakline.errors import ProgramError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Signals that people and supervisors send to end or steer a program.
_FORWARDED = frozenset(
    [
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGUSR2,
    ]
)
_WAITED_FOR = _FORWARDED | {signal.SIGCHLD}
# Python ignores these at its start; the program is to have what a shell gives it.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# si_code of a signal that the kernel sent, as for Ctrl-C: the terminal sends it to the
# whole foreground group, so the program has it already.
_SENT_BY_KERNEL = 0x80


class EndedBySignal(BaseException):
    """A signal asks this process to end; what it has made is to be removed first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Child:
    """The running program.

    Until `wait` returns the forwarded signals are blocked in this process, so that none
    is lost and none ends us before the program.
    """

    def __init__(
        self, path: str, argv: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        self._ignores_children = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
        if self._ignores_children:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.pid = self._start(path, argv, environment)

    def wait(
        self,
        period_s: float | None = None,
        each_period: Callable[[], None] = lambda: None,
    ) -> int:
        """Waits for the end, passing signals on; returns the wait status.

        `each_period` is called every `period_s` seconds while the program runs.
        """
        due = time.monotonic() + (period_s or 0)
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self._unblock_signals()
                return status
            if period_s is None:
                self._pass_on(signal.sigwaitinfo(_WAITED_FOR))
                continue
            received = signal.sigtimedwait(_WAITED_FOR, max(0, due - time.monotonic()))
            if received is not None:
                self._pass_on(received)
            if time.monotonic() >= due:
                each_period()
                due = time.monotonic() + period_s

    def _unblock_signals(self) -> None:
        """What was still on its way was for the program: the report goes on."""
        while signal.sigtimedwait(_WAITED_FOR, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _pass_on(self, received: signal.struct_siginfo) -> None:
        if received.si_signo not in _FORWARDED or received.si_code == _SENT_BY_KERNEL:
            return
        os.kill(self.pid, received.si_signo)

    def _start(
        self, path: str, argv: Sequence[str], environment: Mapping[str, str]
    ) -> int:
        """Forks and executes; what exec answers comes back through a pipe."""
        answer, failure = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(path, argv, environment, failure)
        os.close(failure)
        with os.fdopen(answer, "rb") as pipe:
            error = pipe.read()
        if error:
            os.waitpid(pid, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            raise ProgramError(f"{path} cannot be started: {os.strerror(int(error))}")
        return pid

    def _become(
        self,
        path: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        failure: int,
    ) -> None:
        """In the child: undoes what Python changed, then becomes the program."""
        try:
            for number in _IGNORED_BY_PYTHON:
                signal.signal(number, signal.SIG_DFL)
            if self._ignores_children:
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            os.execve(path, list(argv), dict(environment))  # noqa: S606 (no shell between)
        except OSError as error:
            os.write(failure, str(error.errno).encode())
        finally:
            os._exit(127)


def tidy_up_before_ending() -> None:
    """Lets signals that end this process raise `EndedBySignal` from now on."""

    def end(number: int, _frame: object) -> None:
        raise EndedBySignal(number)

    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def leave_input_to_program() -> None:
    """Closes our copy of standard input.

    Whoever is at the other end of a pipe learns at once when the program closes it or
    ends, as without us.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)


def leave_output_to_program() -> None:
    """Closes our copies of all that the program writes to but standard error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def exit_code_of(status: int) -> int:
    """A wait status as a shell shows it: 128 + n for death by signal n."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def die_like(status: int) -> None:
    """Dies of the signal that ended the program, so that our caller sees the same.

    Returns when there was no such signal, or when it does not end this process (as in
    process 1 of a container).
    """
    if not os.WIFSIGNALED(status):
        return
    import resource

    number = os.WTERMSIG(status)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # The program's core file is the one that matters.
    hard_limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
