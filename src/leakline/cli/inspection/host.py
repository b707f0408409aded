"""What this machine allows."""

import ctypes
import fcntl
import os
import platform
import resource
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from leakline.cli.environment import runtime_library
from leakline.cli.inspection.observation import Observation, State
from leakline.errors import LeaklineError
from leakline.folders import cache_path

_SYSCALL_USERFAULTFD = 323
_USER_MODE_ONLY = 1
_PAGEMAP_SCAN = 0xC0606610
_PAGEMAP_SCAN_ARGUMENT = struct.Struct("<12Q")
_PERF_PER_PROCESS = 2  # the highest perf_event_paranoid that lets a user watch itself
_CLANG = "clang-19"


def inspect_host(environment: Mapping[str, str]) -> Iterator[Observation]:
    """Facts about this machine."""
    yield _runtime(environment)
    yield Observation("kernel", State.GOOD, f"Linux {platform.release()}")
    yield _address_space()
    yield _overcommit()
    yield _userfaultfd()
    yield _pagemap_scan()
    yield _perf_events()
    yield _selinux()
    yield _executable_files(environment)
    yield _clang()


def _runtime(environment: Mapping[str, str]) -> Observation:
    try:
        path = runtime_library(environment)
    except LeaklineError as error:
        return Observation("runtime", State.BAD, str(error))
    return Observation("runtime", State.GOOD, str(path))


def _address_space() -> Observation:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return Observation("memory limit", State.GOOD, "address space is not limited")
    words = (
        f"address space is limited to {limit:,} bytes (ulimit -v): the heap's own "
        "tables count as well, so memory may run out earlier than without Leakline"
    )
    return Observation("memory limit", State.LIMITED, words)


def _overcommit() -> Observation:
    if _content("/proc/sys/vm/overcommit_memory") == "2":
        words = (
            "strict (vm.overcommit_memory is 2): the heap's own tables count, so memory "
            "may run out earlier than without Leakline"
        )
        return Observation("overcommit", State.LIMITED, words)
    return Observation("overcommit", State.GOOD, "not strict")


def _userfaultfd() -> Observation:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_SYSCALL_USERFAULTFD, os.O_CLOEXEC | _USER_MODE_ONLY)
    if descriptor < 0:
        reason = os.strerror(ctypes.get_errno())
        return Observation("userfaultfd", State.LIMITED, f"not allowed: {reason}")
    os.close(descriptor)
    return Observation("userfaultfd", State.GOOD, "allowed")


def _pagemap_scan() -> Observation:
    """Asks about no pages at all; a kernel without the call does not know it."""
    size = _PAGEMAP_SCAN_ARGUMENT.size
    question = bytearray(_PAGEMAP_SCAN_ARGUMENT.pack(size, *[0] * 11))
    try:
        with Path("/proc/self/pagemap").open("rb") as pagemap:
            fcntl.ioctl(pagemap, _PAGEMAP_SCAN, question)
    except OSError as error:
        return Observation(
            "page scan", State.LIMITED, f"the kernel has none: {error.strerror}"
        )
    return Observation("page scan", State.GOOD, "the kernel has PAGEMAP_SCAN")


def _perf_events() -> Observation:
    text = _content("/proc/sys/kernel/perf_event_paranoid")
    if text is None:
        return Observation("perf events", State.LIMITED, "the kernel has none")
    allowed = int(text) <= _PERF_PER_PROCESS or os.geteuid() == 0
    state = State.GOOD if allowed else State.LIMITED
    return Observation("perf events", state, f"perf_event_paranoid is {text}")


def _selinux() -> Observation:
    if _content("/sys/fs/selinux/enforce") == "1":
        words = "SELinux is enforcing: it may refuse changes to program code"
        return Observation("code patching", State.LIMITED, words)
    return Observation(
        "code patching", State.GOOD, "no SELinux policy stands against it"
    )


def _executable_files(environment: Mapping[str, str]) -> Observation:
    """The loader maps the runtime from its file, the runtime patch plans from theirs."""
    name = "file mounts"
    with suppress(LeaklineError):
        runtime = Path(runtime_library(environment))
        if _is_noexec(runtime):
            words = f"{runtime} is on a file system mounted noexec: nothing can load it"
            return Observation(name, State.BAD, words)
    if _is_noexec(cache_path()):
        words = (
            f"{cache_path()} is on a file system mounted noexec: patches cannot be "
            "loaded from it (set XDG_CACHE_HOME)"
        )
        return Observation(name, State.LIMITED, words)
    return Observation(name, State.GOOD, "no noexec mount stands against them")


def _is_noexec(path: Path) -> bool:
    while not path.exists():
        path = path.parent
    return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)


def _clang() -> Observation:
    path = shutil.which(_CLANG)
    if path is None:
        return Observation("clang", State.LIMITED, f"{_CLANG} is not installed")
    return Observation("clang", State.GOOD, path)


def _content(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
