"""Prints programs as C: one command per line, whose number is the command's label."""

from functools import singledispatchmethod

from .language import (
    Allocate,
    Assign,
    Branch,
    Choice,
    Command,
    Loop,
    Read,
    Release,
    Scope,
    Write,
)

HEAD = """#include <stdlib.h>
typedef void** cell;
extern volatile unsigned numbers[];
__attribute__((noinline)) static void scrub(void) {
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i++) {
        room[i] = 0;
    }
}"""


class Printer:
    """The lines of a C file; printing a command gives it its label."""

    def __init__(self) -> None:
        self.lines = HEAD.splitlines()
        self._counters = 0
        self._numbers: list[int] = []

    def function(self, name: str, program: Scope) -> None:
        """Print a program as a function."""
        self.lines.append(f"__attribute__((noinline)) static void {name}(void)")
        self.emit(program)

    def text(self, names: list[str]) -> str:
        """Return the file, with a main function that calls some functions."""
        calls = [f"    {name}();\n    scrub();" for name in names]
        main = ["int main(void) {", *calls, "    return 0;", "}", ""]
        numbers = ", ".join(map(str, [*self._numbers, 0]))
        known = f"volatile unsigned numbers[] = {{{numbers}}};"
        return "\n".join([*self.lines, known, *main])

    @singledispatchmethod
    def emit(self, command: Command) -> None:
        """Print one command."""
        raise NotImplementedError(command)

    @emit.register
    def _(self, command: Allocate) -> None:
        # The optimiser would make one call, without a line, of those in two branches.
        call = f"{command.variable} = calloc({command.cells}, 8);"
        self._line(command, f"__attribute__((nomerge)) {call}")

    @emit.register
    def _(self, command: Release) -> None:
        self._line(command, f"free({command.variable}), {command.variable} = NULL;")

    @emit.register
    def _(self, command: Assign) -> None:
        source = f"{command.source} + {command.offset}" if command.source else "NULL"
        self._line(command, f"{command.variable} = {source};")

    @emit.register
    def _(self, command: Read) -> None:
        source = f"*({command.source} + {command.offset})"
        self._line(command, f"{command.variable} = (cell){source};")

    @emit.register
    def _(self, command: Write) -> None:
        source = command.source or "NULL"
        target = f"*({command.variable} + {command.offset})"
        self._line(command, f"{target} = {source};")

    @emit.register
    def _(self, command: Scope) -> None:
        self._line(command, "{")
        self.lines += [f"cell {variable} = NULL;" for variable in command.variables]
        self._body(command)

    @emit.register
    def _(self, command: Branch) -> None:
        self._line(command, f"if ({command.variable} != NULL)")
        self._ways(command.first, command.second)

    @emit.register
    def _(self, command: Choice) -> None:
        number = self._number(command.start)
        turn = f"({number} += {command.step})" if command.step else number
        self._line(command, f"if ({turn} & 1)")
        self._ways(command.first, command.second)

    @emit.register
    def _(self, command: Loop) -> None:
        self._counters += 1
        counter = f"i{self._counters}"
        times = command.times if command.is_told else self._number(command.times)
        head = f"for (unsigned {counter} = 0; {counter} < {times}; {counter}++)"
        self._line(command, head)
        self.emit(command.body)

    def _ways(self, first: Scope, second: Scope) -> None:
        self.emit(first)
        self.lines.append("else")
        self.emit(second)

    def _number(self, value: int) -> str:
        self._numbers.append(value)
        return f"numbers[{len(self._numbers) - 1}]"

    def _body(self, scope: Scope) -> None:
        for command in scope.body:
            self.emit(command)
        self.lines.append("}")
        scope.end_label = len(self.lines)

    def _line(self, command: Command, text: str) -> None:
        self.lines.append(";" if command.skipped else text)
        command.label = len(self.lines)
