"""Peak memory of a whole process tree.

The kernel keeps the peak of each process only, and a sum of those would count shared
pages often. So the proportional set sizes of all processes are added up while they
run, as often as `INTERVAL_S` says.
"""

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

INTERVAL_S = 0.1


class PeakMemory:
    """Watches a process and its descendants between entering and leaving."""

    def __init__(self, pid: int) -> None:
        self.peak_kib = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            total = sum(map(_proportional_kib, _tree(self._pid)))
            self.peak_kib = max(self.peak_kib, total)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            lists = list(Path(f"/proc/{parent}/task").glob("*/children"))
            found += [int(word) for path in lists for word in path.read_text().split()]
        except OSError:
            continue  # it ended while we looked
    return found


def _proportional_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    sizes = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
    return int(sizes[0]) if sizes else 0
