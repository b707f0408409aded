"""Which of the limits of lens `reach` a run of the benchmarks kept, with the spread."""

from statistics import median

from benchmarks.measure import Cost
from benchmarks.modes import LEAKLINE, PLAIN
from benchmarks.table import Results, markdown
from benchmarks.workloads import Workload

MEMORY_LIMIT = 1.5
# A small program may take more than that, but not more than so much beside its own.
SMALL_PROGRAM_EXTRA_KIB = 4096

HEAD = ["`reach`", "CPU", "from", "to", "limit", "memory", "more MB", "kept"]


def render(results: Results, workloads: list[Workload]) -> str:
    """Return one row for each workload."""
    rows = [_row(workload, results[workload.name]) for workload in workloads]
    return markdown([HEAD, *rows])


def _row(workload: Workload, costs: dict[str, list[Cost]]) -> list[str]:
    rounds = list(zip(costs[PLAIN.name], costs[LEAKLINE.name], strict=False))
    if not rounds:
        return [workload.name, *["failed"] * (len(HEAD) - 1)]
    cpu = [watched.cpu_s / plain.cpu_s for plain, watched in rounds]
    memory = median(watched.peak_kib / plain.peak_kib for plain, watched in rounds)
    more_kib = median(watched.peak_kib - plain.peak_kib for plain, watched in rounds)
    missed = [
        *(["CPU"] if round(median(cpu), 2) > workload.limit else []),
        *(
            ["memory"]
            if memory > MEMORY_LIMIT and more_kib > SMALL_PROGRAM_EXTRA_KIB
            else []
        ),
    ]
    return [
        workload.name,
        f"{median(cpu):.2f}",
        f"{min(cpu):.2f}",
        f"{max(cpu):.2f}",
        f"{workload.limit}",
        f"{memory:.2f}",
        f"{more_kib / 1024:.1f}",
        " and ".join(missed) + " missed" if missed else "yes",
    ]
