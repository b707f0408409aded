"""Asks Z3 whether a path is possible; the only module that imports it.

The solver runs in a process of its own (`python -m leakline.static.solver`), which
reads one question and writes one answer a line. A question is a table of terms, each
built from earlier ones, and the conditions on them; the effort is limited by Z3's own
resource count, so that answers do not depend on the speed of the machine.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from leakline.static.engine.ranges import UNBOUNDED
from leakline.static.engine.values import SYMBOL, Terms, Value

_BITS = 64
_SEED = 7
# Objects lie far apart, so that offsets never make two of them meet.
_FIRST_ADDRESS, _ADDRESS_STEP = 1 << 40, 1 << 32


class Verdict(Enum):
    """What the solver says about a path."""

    POSSIBLE = "sat"
    IMPOSSIBLE = "unsat"
    UNKNOWN = "unknown"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        rows: Terms; each is a list of its tag and parts. A part that is a value is
            a number, or [row, offset], or [row, constant, index value, scale].
        conditions: [value, truth] or [value, lowest, highest, excluded numbers].
    """

    rows: list[list[Any]]
    conditions: list[list[Any]]
    effort: int

    @classmethod
    def of(cls, terms: Terms, conditions: Sequence[Any], effort: int) -> Self:
        """A question about the conditions of a path."""
        table = _Table(terms)
        asked: list[list[Any]] = []
        for value, wanted in conditions:
            if isinstance(wanted, bool):
                asked.append([table.value(value), wanted])
            else:
                low, high, excluded = wanted
                row = [table.value(value), low, high, sorted(excluded or ())]
                asked.append(row)
        return cls(table.rows, asked, effort)

    def to_json(self) -> str:
        """One line of text."""
        return json.dumps([self.rows, self.conditions, self.effort])


class _Table:
    """Collects the terms that values mention."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._places: dict[int, int] = {}
        self.rows: list[list[Any]] = []

    def value(self, value: Value) -> Any:  # noqa: ANN401  # JSON
        if isinstance(value, int):
            return value
        row = self._row(value[0])
        offset = value[1]
        if isinstance(offset, int):
            return [row, offset]
        return [row, offset[0], self.value(offset[1]), offset[2]]

    def _row(self, base: int) -> int:
        place = self._places.get(base)
        if place is None:
            row = self._content(base)
            place = self._places[base] = len(self.rows)
            self.rows.append(row)
        return place

    def _content(self, base: int) -> list[Any]:
        if self._terms.kinds[base] != SYMBOL:
            return ["object"]
        key = self._terms.keys[base]
        match key[0]:
            case "eq" | "slt" | "ult" as tag:
                return [tag, self.value(key[1]), self.value(key[2])]
            case "not":
                return ["not", self.value(key[1])]
            case "bin":
                return ["bin", key[1], self.value(key[2]), self.value(key[3]), key[4]]
            case "cast":
                return ["cast", key[1], self.value(key[2]), key[3], key[4]]
            case "select":
                return ["select", *(self.value(part) for part in key[1:4])]
            case _:
                return ["symbol"]


class Solver:
    """The solver's process; started by the first question."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, query: Query) -> Verdict:
        """Whether the conditions can hold together; unknown when it cannot tell.

        A solver that crashes is started again and asked once more.
        """
        if not query.conditions:
            return Verdict.POSSIBLE
        for _ in range(2):
            try:
                return Verdict(self._exchange(query.to_json()))
            except (OSError, ValueError):
                self.close()
        return Verdict.CRASHED

    def _exchange(self, question: str) -> str:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "leakline.static.solver"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a crash is told in the report
                text=True,
            )
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise OSError("the solver has no pipes")
        process.stdin.write(question + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            # A question that a crashed process did not read cannot be written out.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        process.kill()
        process.wait()


def serve() -> None:
    """Answer questions until the input ends; only this process imports Z3."""
    for line in sys.stdin:
        rows, conditions, effort = json.loads(line)
        sys.stdout.write(_Encoding(rows).check(conditions, effort) + "\n")
        sys.stdout.flush()


class _Encoding:
    """Terms as bit vectors: every number is a signed one of 64 bits."""

    def __init__(self, rows: list[list[Any]]) -> None:
        import z3  # type: ignore[import-untyped]  # noqa: PLC0415  # see serve

        self._z3 = z3
        self._rows: list[Any] = []
        for number, row in enumerate(rows):
            self._rows.append(self._row(number, row))

    def check(self, conditions: list[list[Any]], effort: int) -> str:
        z3 = self._z3
        solver = z3.SolverFor("QF_BV")
        solver.set("random_seed", _SEED)
        solver.set("rlimit", effort)
        for condition in conditions:
            value = self._value(condition[0])
            if isinstance(condition[1], bool):
                solver.add((value != 0) == condition[1])
            else:
                _, low, high, excluded = condition
                if low > -UNBOUNDED:
                    solver.add(value >= low)
                if high < UNBOUNDED:
                    solver.add(value <= high)
                solver.add(*(value != number for number in excluded))
        return str(solver.check())

    def _value(self, value: Any) -> Any:  # noqa: ANN401  # Z3 expressions
        if isinstance(value, int):
            return self._z3.BitVecVal(value, _BITS)
        found = self._rows[value[0]] + value[1]
        if len(value) > 2:  # noqa: PLR2004  # with an index
            found += self._value(value[2]) * value[3]
        return found

    def _row(self, number: int, row: list[Any]) -> Any:  # noqa: ANN401  # Z3
        z3 = self._z3
        match row:
            case ["object"]:
                return z3.BitVecVal(_FIRST_ADDRESS + number * _ADDRESS_STEP, _BITS)
            case ["eq", x, y]:
                return self._truth(self._value(x) == self._value(y))
            case ["slt", x, y]:
                return self._truth(self._value(x) < self._value(y))
            case ["ult", x, y]:
                return self._truth(z3.ULT(self._value(x), self._value(y)))
            case ["not", x]:
                return self._truth(self._value(x) == 0)
            case ["select", condition, x, y]:
                chosen = self._value(condition) != 0
                return z3.If(chosen, self._value(x), self._value(y))
            case ["bin", operator, x, y, bits] if 0 < bits <= _BITS:
                return self._binary(number, operator, (x, y), bits)
            case ["cast", operator, x, bits, from_bits]:
                return self._cast(number, operator, x, (bits, from_bits))
            case _:
                return z3.BitVec(f"s{number}", _BITS)

    def _truth(self, condition: Any) -> Any:  # noqa: ANN401  # Z3
        return self._z3.If(
            condition, self._z3.BitVecVal(1, _BITS), self._z3.BitVecVal(0, _BITS)
        )

    def _binary(
        self, number: int, operator: str, parts: tuple[Any, Any], bits: int
    ) -> Any:  # noqa: ANN401  # Z3
        z3 = self._z3
        x, y = (z3.Extract(bits - 1, 0, self._value(part)) for part in parts)
        operations = {
            "add": lambda: x + y,
            "sub": lambda: x - y,
            "mul": lambda: x * y,
            "and": lambda: x & y,
            "or": lambda: x | y,
            "xor": lambda: x ^ y,
            "shl": lambda: x << y,
            "ashr": lambda: x >> y,
            "lshr": lambda: z3.LShR(x, y),
            "udiv": lambda: z3.UDiv(x, y),
            "urem": lambda: z3.URem(x, y),
            "sdiv": lambda: x / y,
            "srem": lambda: z3.SRem(x, y),
        }
        compute = operations.get(operator)
        if compute is None:
            return z3.BitVec(f"s{number}", _BITS)
        return self._extend(compute(), bits)

    def _extend(self, value: Any, bits: int) -> Any:  # noqa: ANN401  # Z3
        if bits == _BITS:
            return value
        extend = self._z3.ZeroExt if bits == 1 else self._z3.SignExt
        return extend(_BITS - bits, value)

    def _cast(
        self,
        number: int,
        operator: str,
        part: Any,  # noqa: ANN401  # JSON
        widths: tuple[int, int],
    ) -> Any:  # noqa: ANN401  # Z3
        z3 = self._z3
        bits, from_bits = widths
        value = self._value(part)
        if operator == "trunc" and 0 < bits < _BITS:
            return self._extend(z3.Extract(bits - 1, 0, value), bits)
        if operator == "zext" and 0 < from_bits < _BITS:
            low = z3.Extract(from_bits - 1, 0, value)
            return z3.ZeroExt(_BITS - from_bits, low)
        if operator == "sext":
            return -value if from_bits == 1 else value
        return z3.BitVec(f"s{number}", _BITS)


if __name__ == "__main__":
    serve()
