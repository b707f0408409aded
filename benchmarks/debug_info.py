"""How long a report takes on a program with 100 MB of debug information."""

import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Command, run
from benchmarks.modes import LEAKLINE
from benchmarks.scale import LEAKLINE_COMMAND
from benchmarks.table import markdown
from benchmarks.workloads import PROGRAMS, wrapped

SOURCE = PROGRAMS / "debug_unit.cpp"
UNITS = (5, 20, 70)  # the last program has more than 100 MB


@dataclass(frozen=True, slots=True)
class Growth:
    """The reports on one program, in CPU time."""

    program_mb: float
    leaks: int
    first_report_s: float
    second_report_s: float

    def as_dict(self) -> dict[str, Any]:
        """Return the raw numbers."""
        return asdict(self)


def measure(scratch: Path) -> list[Growth]:
    """Report on programs from small to large, each with an empty cache and again."""
    unit = scratch / "unit.o"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-g", "-c", SOURCE, "-o", unit], check=True
    )
    return [_measure_one(_link(unit, count, scratch), count) for count in UNITS]


def _measure_one(program: Path, count: int) -> Growth:
    scratch = program.parent
    run(wrapped(Command((str(program),), (), scratch), LEAKLINE.wrap(scratch)))
    recording = str(scratch / "recording")
    report = Command(
        (str(LEAKLINE_COMMAND), "report", recording, "--error-exitcode", "0"),
        (("XDG_CACHE_HOME", str(scratch / f"cache-{count}")),),
        scratch,
    )
    return Growth(
        program_mb=program.stat().st_size / 2**20,
        leaks=count,
        first_report_s=run(report).cpu_s,
        second_report_s=run(report).cpu_s,
    )


def _link(unit: Path, count: int, scratch: Path) -> Path:
    """Link copies of a unit into one program that calls each of them."""
    names = subprocess.run(
        ["nm", "--defined-only", "-j", unit], check=True, capture_output=True, text=True
    ).stdout.split()
    program = scratch / f"debug_info_{count}"
    copies = [_copy(unit, f"unit{number}_", names) for number in range(count)]
    calls = [f"unit{number}_lose_in_unit" for number in range(count)]
    source = "".join(f"void {call}(void);\n" for call in calls)
    source += f"int main(void) {{ {' '.join(f'{call}();' for call in calls)} }}\n"
    main = scratch / "debug_info.c"
    main.write_text(source)
    subprocess.run(["gcc", "-g", "-c", main, "-o", main.with_suffix(".o")], check=True)
    subprocess.run(["g++", main.with_suffix(".o"), *copies, "-o", program], check=True)
    for copy in copies:
        copy.unlink()
    return program


def _copy(unit: Path, prefix: str, names: list[str]) -> Path:
    renamed = unit.with_name("names.txt")
    renamed.write_text("".join(f"{name} {prefix}{name}\n" for name in names))
    copy = unit.with_name(f"{prefix}.o")
    command = ["objcopy", f"--redefine-syms={renamed}", str(unit), str(copy)]
    subprocess.run(command, check=True)
    return copy


def render(series: list[Growth]) -> str:
    """Return the growth table."""
    head = ["program MB", "leaks", "first report s", "second report s"]
    rows = [
        [
            f"{growth.program_mb:.0f}",
            f"{growth.leaks}",
            f"{growth.first_report_s:.2f}",
            f"{growth.second_report_s:.2f}",
        ]
        for growth in series
    ]
    return markdown([head, *rows]) if series else ""
