"""Whether a report on programs of the language tells what their semantics says."""

from collections import Counter
from typing import Any

from .language import Scope
from .printing import Printer
from .semantics import Leak, Machine, run


def prepared(listed: list[Scope]) -> tuple[str, list[Machine]]:
    """Print programs as one C file, and run them by their semantics.

    Printing gives the commands their labels; running finds those that C leaves open,
    which are then printed no more.
    """
    _printed(listed)
    machines = [run(program) for program in listed]
    return _printed(listed), machines


def _printed(listed: list[Scope]) -> str:
    printer = Printer()
    names = [f"program_{number}" for number in range(len(listed))]
    for name, program in zip(names, listed, strict=True):
        printer.function(name, program)
    return printer.text(names)


def differences(machines: list[Machine], report: dict[str, Any]) -> list[str]:
    """What the report has and the semantics has not, or the other way round."""
    leaks = Counter(leak for machine in machines for leak in machine.leaks())
    leaders = Counter[Leak]()
    for machine in machines:
        leaders += machine.leaders()
    lost, total = _reported(report)
    found = [f"not in the semantics: {leak}" for leak in lost - leaks]
    found += [f"not in the report: {leak}" for leak in leaders - lost]
    if total != leaks.total():
        found.append(f"{total} blocks in the report, {leaks.total()} in the semantics")
    return found


def other_births(machines: list[Machine], report: dict[str, Any]) -> list[str]:
    """Births in the report that the semantics has not."""
    births: dict[Leak, set[int]] = {}
    for machine in machines:
        for leak, labels in machine.births().items():
            births.setdefault(leak, set()).update(labels)
    found = []
    for finding in report["findings"]:
        leak = _leak(finding)
        line = _line(finding["birth"])
        if finding["kind"] == "lost" and line not in births.get(leak, ()):
            known = sorted(births.get(leak, ()))
            found.append(f"{leak} born at {line}, in the semantics at {known}")
    return found


def _reported(report: dict[str, Any]) -> tuple[Counter[Leak], int]:
    """Return the lost blocks by their lines, and how many were lost in all."""
    lost: Counter[Leak] = Counter()
    total = 0
    for finding in report["findings"]:
        total += finding["blocks"]
        if finding["kind"] == "lost":
            lost[_leak(finding)] += finding["blocks"]
    return lost, total


def _leak(finding: dict[str, Any]) -> Leak:
    return Leak(_line(finding["allocation"]), _line(finding["loss"]))


def _line(stack: dict[str, Any] | None) -> int:
    frames = stack["frames"] if stack is not None else ()
    return int(frames[0]["line"]) if frames else 0
