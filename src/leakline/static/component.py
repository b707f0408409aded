"""Checks one component: a function, or several that call each other."""

from collections.abc import Mapping
from dataclasses import dataclass

from leakline.static.engine.context import Options
from leakline.static.engine.function import Checked, check_function, unknown_summary
from leakline.static.engine.summary import Summary
from leakline.static.models.library import Models
from leakline.static.program import Program
from leakline.static.solver import Solver
from leakline.static.surroundings import ProgramSurroundings


@dataclass(slots=True)
class Checker:
    """What every component is checked with."""

    program: Program
    models: Models
    options: Options
    solver: Solver

    def component(
        self, ids: tuple[str, ...], callees: Mapping[str, Summary]
    ) -> dict[str, Checked]:
        """Check the functions of a component, given their callees' summaries.

        Functions that call themselves are walked twice: first expecting anything of
        the calls within the component, then with what the first walk found.
        """
        summaries = dict(callees)
        recursive = len(ids) > 1 or ids[0] in self.program.callees(ids[0])
        checked: dict[str, Checked] = {}
        for _ in range(2 if recursive else 1):
            checked = {}
            for function_id in ids:
                checked[function_id] = self._function(function_id, summaries)
            summaries.update((name, found.summary) for name, found in checked.items())
        return checked

    def _function(self, function_id: str, summaries: Mapping[str, Summary]) -> Checked:
        entry = self.program.functions[function_id]
        surroundings = ProgramSurroundings(self.program, self.models, entry, summaries)
        try:
            return check_function(
                function_id,
                self.program.units[entry.unit],
                entry.function,
                surroundings,
                self.options,
                self.solver.ask,
            )
        except RecursionError:
            return self._unseen(function_id, "nested too deeply")
        except Exception as error:  # noqa: BLE001  # others must not go without a report
            reason = f"the checker failed, {type(error).__name__}: {error}"
            return self._unseen(function_id, reason)

    def _unseen(self, function_id: str, reason: str) -> Checked:
        function = self.program.functions[function_id].function
        return Checked(unknown_summary(function_id, function), taint=reason)
