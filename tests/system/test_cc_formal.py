"""Programs of the abstract language lose their blocks where its semantics says.

`LEAKLINE_FORMAL_EXAMPLES` sets the number of lists of programs that are tried; what is
tried by default keeps the test short.
"""

import os
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .compiled import compile_text, watch_json
from .formal.language import Scope
from .formal.printing import Printer
from .formal.programs import programs
from .formal.semantics import Leak, Machine, run

EXAMPLES = int(os.environ.get("LEAKLINE_FORMAL_EXAMPLES", "3"))
PROGRAMS_AT_ONCE = 12


def printed(listed: list[Scope]) -> str:
    """Print programs as one C file; gives their commands labels."""
    printer = Printer()
    names = [f"program_{number}" for number in range(len(listed))]
    for name, program in zip(names, listed, strict=True):
        printer.function(name, program)
    return printer.text(names)


def reported(report: dict[str, list[dict[str, object]]]) -> tuple[Counter[Leak], int]:
    """Return the lost blocks by their lines, and how many were lost in all."""
    lost: Counter[Leak] = Counter()
    total = 0
    for finding in report["findings"]:
        blocks = int(str(finding["blocks"]))
        total += blocks
        if finding["kind"] == "lost":
            lost[Leak(_line(finding["allocation"]), _line(finding["loss"]))] += blocks
    return lost, total


def _line(stack: object) -> int:
    assert isinstance(stack, dict)
    frames = stack["frames"]
    return int(frames[0]["line"]) if frames else 0


def check(machines: list[Machine], report: dict[str, list[dict[str, object]]]) -> None:
    leaks = Counter(leak for machine in machines for leak in machine.leaks())
    leaders = Counter[Leak]()
    for machine in machines:
        leaders += machine.leaders()
    lost, total = reported(report)
    assert lost - leaks == Counter()
    assert leaders - lost == Counter()
    assert total == leaks.total()


@given(listed=st.lists(programs(), min_size=1, max_size=PROGRAMS_AT_ONCE))
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_losses_are_where_the_semantics_has_them(listed: list[Scope]) -> None:
    printed(listed)
    machines = [run(program) for program in listed]
    text = printed(listed)
    with tempfile.TemporaryDirectory() as folder:
        for optimisation in ("-O0", "-O2"):
            program = compile_text(text, Path(folder), optimisation)
            check(machines, watch_json(program, Path(folder)))
