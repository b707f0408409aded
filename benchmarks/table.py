"""Renders measured costs as ratios to the plain program."""

from statistics import median

from benchmarks.measure import Cost
from benchmarks.workloads import Workload

# Workload to mode to one cost per round.
Results = dict[str, dict[str, list[Cost]]]


def render(results: Results, workloads: list[Workload], modes: list[str]) -> str:
    """Return the table: CPU ratios, then ratios of the peak resident set."""
    head = ["workload", "plain s", "limit", "loss limit", *modes, "plain MB"]
    head += [f"{mode} mem" for mode in modes]
    rows = [head]
    rows += [_row(workload, results[workload.name], modes) for workload in workloads]
    return markdown(rows)


def markdown(rows: list[list[str]]) -> str:
    """Return rows, the first of which is the head, as a table to paste into a page."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    rule = " | ".join(f"{'-' * (width - 1)}:" for width in widths)
    return "\n".join(f"| {line} |" for line in [lines[0], rule, *lines[1:]])


def _row(
    workload: Workload, costs: dict[str, list[Cost]], modes: list[str]
) -> list[str]:
    plain = costs["plain"]
    row = [workload.name, f"{median(c.cpu_s for c in plain):.2f}"]
    row.append(f"<= {workload.limit}")
    row.append(f"<= {workload.loss_limit}" if workload.loss_limit else "-")
    row += [
        _ratio([c.cpu_s for c in plain], [c.cpu_s for c in costs[m]]) for m in modes
    ]
    row.append(f"{median(c.peak_kib for c in plain) / 1024:.1f}")
    row += [
        _ratio([c.peak_kib for c in plain], [c.peak_kib for c in costs[m]])
        for m in modes
    ]
    return row


def _ratio(plain: list[float] | list[int], mode: list[float] | list[int]) -> str:
    """Return the median over rounds of the ratio within a round."""
    ratios = [b / a for a, b in zip(plain, mode, strict=False)]
    return f"{median(ratios):.2f}" if ratios else "failed"
