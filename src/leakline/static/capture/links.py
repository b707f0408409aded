"""From the recorded links to link units: which objects each program is made of."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from leakline.static.capture.command import LinkStep
from leakline.static.linking import LinkUnit


def link_units(
    steps: Sequence[LinkStep], units_by_output: Mapping[Path, int]
) -> tuple[LinkUnit, ...]:
    """The link unit of each program and library.

    Archives and libraries that the same build made are followed. Units that nothing
    links (the build stopped before) form one open unit.
    """
    members = _Members(steps, units_by_output)
    inner = {path for step in steps for path in members.parts(step)}
    found = [
        LinkUnit(str(step.output), units, step.closed)
        for step in steps
        if not (step.output in inner and _is_part(step))
        and (units := members.units(step))
    ]
    linked = frozenset().union(*(unit.units for unit in found))
    alone = frozenset(units_by_output.values()) - linked
    if alone:
        found.append(LinkUnit("", alone, closed=False))
    return tuple(found)


def _is_part(step: LinkStep) -> bool:
    """Whether the output only serves to be linked further; a shared library does more."""
    return step.output.suffix in {".a", ".o", ".lo"}


def _unversioned(name: str) -> str:
    """`libx.so.1.2` as `libx.so`, the name that programs are linked with."""
    stem, mark, _ = name.partition(".so.")
    return stem + ".so" if mark else name


class _Members:
    """Finds the units of a link, through the archives and libraries it names."""

    def __init__(
        self, steps: Sequence[LinkStep], units_by_output: Mapping[Path, int]
    ) -> None:
        self._units = units_by_output
        self._steps = {step.output: step for step in steps}
        self._by_name = {_unversioned(step.output.name): step for step in steps}

    def parts(self, step: LinkStep) -> list[Path]:
        """Outputs of other links that this one takes in."""
        found = [part for path in step.inputs if (part := self._made(path))]
        found += self._libraries(step.libraries)
        return [part.output for part in found if part.output != step.output]

    def units(self, step: LinkStep) -> frozenset[int]:
        """Numbers of all units that end up in the output."""
        seen: set[Path] = set()
        units: set[int] = set()
        pending = [step]
        while pending:
            current = pending.pop()
            if current.output in seen:
                continue
            seen.add(current.output)
            units.update(
                self._units[path] for path in current.inputs if path in self._units
            )
            pending += [self._steps[path] for path in self.parts(current)]
        return frozenset(units)

    def _made(self, path: Path) -> LinkStep | None:
        """The link of this build that made the file, or a library of its name."""
        if path in self._steps:
            return self._steps[path]
        return self._by_name.get(path.name) if ".so" in path.name else None

    def _libraries(self, names: Iterable[str]) -> list[LinkStep]:
        files = [f for name in names for f in (f"lib{name}.so", f"lib{name}.a")]
        return [self._by_name[name] for name in files if name in self._by_name]
