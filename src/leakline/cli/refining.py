"""`--refine`: the program is trapped where it lost its blocks.

That is in a second run, or with `--every` in the same run, for leaks that recur.
Nothing of a second run shows: it writes to nowhere, and its recording is added to the first run's.
Standard input is read again where it is a file, and empty otherwise.
"""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from leakline.cli.environment import watching_environment
from leakline.cli.launch import Child, exit_code_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from leakline.dynamic.traces import Refinable
    from leakline.patching.watch_list import Untrappable, WatchTarget
    from leakline.recording.chunks import ProcessKey


class SecondRun:
    """What has to be known before the first run to be able to run again."""

    def __init__(self) -> None:
        self._input = _input_file()

    def run(
        self, path: str, argv: Sequence[str], recording: str, status: int
    ) -> tuple[str, ...]:
        """Runs again; returns sentences about what did not repeat itself."""
        found = _refinables(recording)
        if not found.blocks:
            return ()
        with tempfile.TemporaryDirectory(prefix="leakline-") as folder:
            watch_list = f"{folder}/watch"
            _write_watch_list(watch_list, found.blocks)
            options = {
                "recording": recording,
                "lens": "reach,loss",
                "watch": watch_list,
                "children": str(int(found.in_children)),
            }
            second = self._run_watched(path, argv, options)
        if second != status:
            return (
                (
                    "The program did not repeat itself: it ended with "
                    f"{exit_code_of(status)} at first and with {exit_code_of(second)} "
                    "in the second run."
                ),
            )
        return ()

    def _run_watched(
        self, path: str, argv: Sequence[str], options: dict[str, str]
    ) -> int:
        environment = watching_environment(os.environ, options)
        saved = [os.dup(number) for number in (0, 1, 2)]
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(nothing, 0)
            if self._input is not None:
                self._input.open_as_input()
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            child = Child(path, argv, environment)
        finally:
            for number, copy in enumerate(saved):
                os.dup2(copy, number)
                os.close(copy)
            os.close(nothing)
        return child.wait()


class SameRun:
    """Refines leaks that recur while the program runs on.

    The first look that finds blocks which no store lost gives the list, with those that
    were lost with their containers; the runtime takes it from a file with the process's
    number behind its name.
    """

    def __init__(self, recording: str) -> None:
        self.name = f"{recording}.watch"
        self._recording = recording
        self._path = ""

    def options(self) -> dict[str, str]:
        """What the runtime has to know from the start."""
        return {"ordinals": "1", "watch_later": self.name}

    def look(self, pid: int, *, births: bool) -> None:
        """Writes the list once there is something to watch."""
        if self._path:
            return
        from leakline.recording._format import Cause

        # Where a patched store is, no trap can wait for it.
        followed = (Cause.NOT_IN_MEMORY, Cause.CONTAINER_FREED)
        refinable = _refinables(self._recording).of_program
        found = [one for one in refinable if one.cause in followed]
        if found:
            from leakline.patching.watch_list import ANY_BLOCK

            self._path = f"{self.name}.{pid}"
            recurring = [replace(one, ordinal=ANY_BLOCK) for one in found]
            _write_watch_list(f"{self._path}.new", recurring, _Patched(births=births))
            os.rename(f"{self._path}.new", self._path)

    def clear(self) -> None:
        """Removes the list."""
        if self._path:
            os.unlink(self._path)


class _Patched:
    """The addresses at which the plans of modules change the code."""

    def __init__(self, *, births: bool) -> None:
        self._births = births

    def __call__(self, build_id: bytes) -> set[int]:
        from leakline.patching.plan_file import SUFFIXES, changed_addresses
        from leakline.patching.plans import plan_folder

        plan = plan_folder() / (build_id.hex() + SUFFIXES[self._births])
        try:
            return changed_addresses(plan)
        except OSError:
            return set()


class _InputFile(NamedTuple):
    """A file that is standard input, and how far it was read before the first run."""

    path: str
    device: int
    inode: int
    position: int

    def open_as_input(self) -> None:
        """Opens the same file once more as standard input; empty if it is gone."""
        try:
            again = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        status = os.fstat(again)
        if (status.st_dev, status.st_ino) == (self.device, self.inode):
            os.lseek(again, self.position, os.SEEK_SET)
            os.dup2(again, 0)
        os.close(again)


def _input_file() -> _InputFile | None:
    """Standard input, if it can be read twice."""
    try:
        status = os.fstat(0)
        if not stat.S_ISREG(status.st_mode):
            return None
        position = os.lseek(0, 0, os.SEEK_CUR)
        path = os.readlink("/proc/self/fd/0")
    except OSError:
        return None
    return _InputFile(path, status.st_dev, status.st_ino, position)


class _Refinables(NamedTuple):
    """The blocks that can be traced.

    Attributes:
        blocks: Of all processes.
        of_program: Those of the program itself.
        in_children: Some are of what it started.
    """

    blocks: list[Refinable]
    of_program: list[Refinable]
    in_children: bool


def _refinables(recording: str) -> _Refinables:
    from leakline.dynamic.process_log import ProcessLog, read_processes
    from leakline.dynamic.traces import most_refinable, refinables
    from leakline.recording.reader import open_recording

    found: dict[ProcessKey, list[Refinable]] = {}

    def take(log: ProcessLog) -> None:
        found[log.key] = list(refinables(log))

    with open_recording(Path(recording)) as opened:
        keys = [log.key for log in read_processes(opened, take)]
    first = [one for key in keys[:1] for one in found[key]]
    others = [one for key in keys[1:] for one in found[key]]
    return _Refinables(
        most_refinable([*first, *others]), most_refinable(first), bool(others)
    )


def _write_watch_list(
    path: str, found: list[Refinable], untrappable: Untrappable = lambda _: ()
) -> None:
    from leakline.dynamic.code_reader import CodeReader
    from leakline.patching.watch_list import write_watch_list

    reader = CodeReader()
    write_watch_list(
        Path(path),
        map(_target, found),
        lambda address: reader.returned_words(address.module, address.offset),
        untrappable,
    )


def _target(found: Refinable) -> WatchTarget:
    """A block as the watch list has it."""
    from leakline.patching.watch_list import Trigger, WatchFrame, WatchTarget
    from leakline.recording._format import Cause

    triggers = {
        Cause.OVERWRITTEN: Trigger.STORE,
        Cause.CONTAINER_FREED: Trigger.FREE,
    }
    return WatchTarget(
        tuple(WatchFrame(*frame) for frame in found.frames),
        found.ordinal,
        triggers.get(found.cause, Trigger.BIRTH),
        tuple(WatchFrame(*frame) for frame in found.loss),
    )
