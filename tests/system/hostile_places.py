"""Places that are hard for the runtime, to be entered before a program starts: filters
that refuse single system calls, and a kernel that seems to tell something else."""

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

# Numbers of system calls on x86-64.
IOCTL = 16
MEMFD_CREATE = 319
USERFAULTFD = 323

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD_NUMBER = 0x20
_JUMP_IF_EQUAL = 0x15
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_FAIL = 0x00050000
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 0x1000
_MS_PRIVATE_ALL = 0x44000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refusing(number: int) -> Callable[[], None]:
    """Return what makes a process refuse a call, with EPERM, from then on."""

    def refuse() -> None:
        code = b"".join(
            struct.pack("<HBBI", *instruction)
            for instruction in (
                (_LOAD_NUMBER, 0, 0, 0),
                (_JUMP_IF_EQUAL, 0, 1, number),
                (_RETURN, 0, 0, _FAIL | errno.EPERM),
                (_RETURN, 0, 0, _ALLOW),
            )
        )
        libc = ctypes.CDLL(None, use_errno=True)
        program = _Program(len(code) // 8, code)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(
            _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "no filter")

    return refuse


def showing(files: Mapping[str, Path]) -> Callable[[], None]:
    """Return what puts files of ours over files of the system, for this process alone."""

    def show() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        own_users = 0 if os.geteuid() == 0 else _CLONE_NEWUSER
        _check(libc.unshare(_CLONE_NEWNS | own_users))
        _check(libc.mount(b"none", b"/", None, _MS_PRIVATE_ALL, None))
        for place, shown in files.items():
            _check(libc.mount(bytes(shown), place.encode(), None, _MS_BIND, None))

    return show


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "files cannot be shown in place of others")
