"""The rest of the program, as the walk over one function sees it."""

from collections.abc import Mapping

from leakline.static.content import content_digest
from leakline.static.engine.function import unknown_summary
from leakline.static.engine.summary import Summary
from leakline.static.facts import Body, Global
from leakline.static.instructions import Call, Invoke
from leakline.static.models.language import Model
from leakline.static.models.library import Models, declared_model
from leakline.static.program import Program, ProgramFunction


class ProgramSurroundings:
    """Answers the walk's questions from the program, its models and summaries."""

    def __init__(
        self,
        program: Program,
        models: Models,
        entry: ProgramFunction,
        summaries: Mapping[str, Summary],
    ) -> None:
        self._program = program
        self._models = models
        self._entry = entry
        self._summaries = summaries
        self._body: Body | None = None

    def targets(self, call: Call | Invoke) -> tuple[str, ...] | None:
        """Ids or library names that a call may reach; None when unknown."""
        if self._body is None:
            self._body = self._entry.function.body()
        return self._program.indirect_targets(self._entry.id, self._body, call)

    def summary(self, function_id: str) -> Summary | None:
        """What a function of the program does; None when it is not one."""
        known = self._summaries.get(function_id)
        if known is not None:
            return known
        entry = self._program.functions.get(function_id)
        return None if entry is None else unknown_summary(entry.id, entry.function)

    def model(self, name: str) -> Model | None:
        """The model of a library function, from files or from its header."""
        entry = self._program.functions.get(name)
        known = self._models.get(name if entry is None else entry.function.name)
        if entry is not None:
            is_meant = known is not None and (known.asked_for or entry.id == known.name)
            return known if is_meant else None
        if known is not None:
            return known
        declaration = self._program.declaration(self._entry.unit, name)
        return None if declaration is None else declared_model(declaration)

    def code_id(self, name: str) -> str:
        """Id of the function that a name means here."""
        return self._program.resolve(self._entry.unit, name) or name

    def global_id(self, name: str) -> str:
        """A name for a variable that is the same in every unit that means it."""
        return self._program.global_id(self._entry.unit, name)

    def variable(self, name: str) -> Global | None:
        """The definition of the variable that a name means here."""
        return self._program.variable(self._entry.unit, name)

    def digest(self) -> bytes:
        """Names all that the walk may learn here besides summaries and models."""
        function = self._entry.function
        called = tuple(
            (self.code_id(name), self._program.declaration(self._entry.unit, name))
            for name in function.calls
        )
        used = tuple(map(self._used, function.globals))
        callees = self._program.callees(self._entry.id)
        return content_digest(
            function.digest(), called, used, callees, function.declaration
        )

    def _used(self, name: str) -> tuple[object, ...]:
        variable = self.variable(name)
        if variable is None:
            return self.global_id(name), None, None
        content = variable.initialiser if variable.constant else None
        return self.global_id(name), variable.constant, content
