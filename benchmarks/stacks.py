"""How cost grows with the number of different call stacks that lose blocks."""

import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Command, run
from benchmarks.modes import LEAKLINE
from benchmarks.scale import LEAKLINE_COMMAND
from benchmarks.table import markdown
from benchmarks.workloads import wrapped
from leakline.recording._format import GroupRecord, NodeRecord
from leakline.recording.reader import open_recording

# The runtime condenses the stacks of more groups than 20,000.
COUNTS = (1_000, 10_000, 20_000, 100_000, 1_000_000)
DEPTH = 40
WAYS = 16  # from each level to the next one

HEAD = """
#include <stdint.h>
#include <stdlib.h>
typedef void step(uint64_t way);
__attribute__((noipa)) static void lose(uint64_t way) {
    void* volatile block = malloc(24);
    block = NULL;
    (void)block;
    (void)way;
}
"""
# The call is not the last thing that a function does, so its frame stays.
STEP = """
__attribute__((noipa)) static void step_{level}_{number}(uint64_t way) {{
    {inner}(way >> 4 | way << 60);
    __asm__ volatile("");
}}
"""
MAIN = """
int main(int argc, char** argv) {
    for (uint64_t i = 0; argc == 2 && i < strtoull(argv[1], NULL, 10); i++) {
        uint64_t way = i * UINT64_C(0x9e3779b97f4a7c15);
        level_0[way % 16](way);
    }
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Growth:
    """One run of a program that loses a block by each of so many stacks."""

    stacks: int
    cpu_s: float
    peak_mb: float
    groups: int
    nodes: int
    recording_mb: float
    report_cpu_s: float
    report_peak_mb: float

    def as_dict(self) -> dict[str, Any]:
        """Return the raw numbers."""
        return asdict(self)


def source() -> str:
    """Return the program: each level calls one of the functions of the next one."""
    text = HEAD
    for level in reversed(range(DEPTH)):
        inner = "lose" if level == DEPTH - 1 else f"level_{level + 1}[way % {WAYS}]"
        numbers = range(WAYS)
        text += "".join(
            STEP.format(level=level, number=number, inner=inner) for number in numbers
        )
        names = ", ".join(f"step_{level}_{number}" for number in numbers)
        text += f"static step* const level_{level}[] = {{{names}}};\n"
    return text + MAIN


def measure(scratch: Path) -> list[Growth]:
    """Run the series from few stacks to many."""
    program = scratch / "many_stacks"
    written = program.with_suffix(".c")
    written.write_text(source())
    subprocess.run(["gcc", "-O1", "-g", written, "-o", program], check=True)
    return [_measure_one(program, scratch, count) for count in COUNTS]


def _measure_one(program: Path, scratch: Path, stacks: int) -> Growth:
    command = Command((str(program), str(stacks)), (), scratch)
    watched = run(wrapped(command, LEAKLINE.wrap(scratch)))
    recording = scratch / "recording"
    words = (str(LEAKLINE_COMMAND), "report", str(recording))
    report = run(Command(words, (), scratch))
    groups, nodes = _counts(recording)
    return Growth(
        stacks=stacks,
        cpu_s=watched.cpu_s,
        peak_mb=watched.peak_kib / 1024,
        groups=groups,
        nodes=nodes,
        recording_mb=recording.stat().st_size / 2**20,
        report_cpu_s=report.cpu_s,
        report_peak_mb=report.peak_kib / 1024,
    )


def _counts(recording: Path) -> tuple[int, int]:
    groups = nodes = 0
    with open_recording(recording) as opened:
        for _, record in opened.records():
            groups += isinstance(record, GroupRecord)
            nodes += isinstance(record, NodeRecord)
    return groups, nodes


TITLES = ("stacks", "run s", "peak MB", "groups", "nodes", "recording MB")
TITLES_OF_REPORT = ("report CPU s", "report MB")


def render(series: list[Growth]) -> str:
    """Return the growth table."""
    head = [*TITLES, *TITLES_OF_REPORT]
    return markdown([head, *map(_row, series)]) if series else ""


def _row(growth: Growth) -> list[str]:
    return [
        f"{growth.stacks:,}",
        f"{growth.cpu_s:.2f}",
        f"{growth.peak_mb:.0f}",
        f"{growth.groups:,}",
        f"{growth.nodes:,}",
        f"{growth.recording_mb:.1f}",
        f"{growth.report_cpu_s:.2f}",
        f"{growth.report_peak_mb:.0f}",
    ]
