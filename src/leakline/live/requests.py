"""Asks a watched process to look at its heap.

A request is the runtime's stop signal, queued with a value that only the runtime reads:

    bits 63..32  magic   bit 31  periodic   bits 30..0  number of the request

The answer is a snapshot with that number in the recording. The signal goes through a
descriptor of the process, so it cannot reach another one that got the same id.
"""

import ctypes
import os
import secrets

from leakline.errors import ProgramError

_MAGIC = 0x4C4C5351
_PERIODIC = 1 << 31
_LARGEST_REQUEST = _PERIODIC - 1
_SI_QUEUE = -1
_SYSCALL_PIDFD_SEND_SIGNAL = 424


class _SignalInfo(ctypes.Structure):
    """`siginfo_t` of a queued signal, as the kernel of x86-64 lays it out."""

    _fields_ = (
        ("si_signo", ctypes.c_int),
        ("si_errno", ctypes.c_int),
        ("si_code", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("si_pid", ctypes.c_int),
        ("si_uid", ctypes.c_uint),
        ("si_value", ctypes.c_uint64),
        ("rest", ctypes.c_char * 96),
    )


def new_request() -> int:
    """A number that no other request is likely to have."""
    return 1 + secrets.randbelow(_LARGEST_REQUEST)


def ask_once(process: int, signal_number: int, request: int) -> None:
    """Asks for a snapshot that a user wants now; `process` is a pidfd."""
    _send(process, signal_number, _MAGIC << 32 | request)


def ask_periodically(process: int, signal_number: int, request: int) -> None:
    """Asks for one of the snapshots that are taken from time to time."""
    _send(process, signal_number, _MAGIC << 32 | _PERIODIC | request)


def _send(process: int, signal_number: int, value: int) -> None:
    info = _SignalInfo(
        si_signo=signal_number,
        si_code=_SI_QUEUE,
        si_pid=os.getpid(),
        si_uid=os.geteuid(),
        si_value=value,
    )
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall(
        _SYSCALL_PIDFD_SEND_SIGNAL, process, signal_number, ctypes.byref(info), 0
    )
    if answer != 0:
        reason = os.strerror(ctypes.get_errno())
        raise ProgramError(f"the process cannot be asked for a snapshot: {reason}")
