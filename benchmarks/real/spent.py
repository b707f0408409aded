"""CPU time of this process and of its children that ended."""

import resource
from types import TracebackType
from typing import Self


class Spent:
    """The CPU seconds spent between entering and leaving."""

    def __init__(self) -> None:
        self.cpu_s = 0.0

    def __enter__(self) -> Self:
        self.cpu_s = -_cpu_s()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cpu_s += _cpu_s()


def _cpu_s() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
