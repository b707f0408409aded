"""Takes what the user wants to keep private out of a whole report.

Reports that read source files need the paths as they were: those are handed on beside
the report and never written.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from leakline.model.report import Report
from leakline.reports.privacy import Privacy

# Fields of the model that hold one path and nothing else.
_PATHS = frozenset({"file", "module"})


class Redacted(NamedTuple):
    """A report whose texts may be shown; `originals` gives each path as it was."""

    report: Report
    originals: dict[str, str]


def redact(report: Report, privacy: Privacy) -> Redacted:
    """The report without the beginnings of paths that the reader may not see."""
    if not privacy.strip:
        return Redacted(report, {})
    worker = _Redaction(privacy)
    return Redacted(worker.value(report), worker.originals)


class _Redaction:
    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self.originals: dict[str, str] = {}
        # Stacks and frames are shared by many findings; by id, for the report's life.
        self._done: dict[int, Any] = {}

    def value(self, value: Any) -> Any:  # noqa: ANN401 (any part of the model)
        """The same kind of value, with safe texts."""
        if isinstance(value, str):
            return self._privacy.stripped_text(value)
        if isinstance(value, tuple):
            return tuple(self.value(one) for one in value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        if id(value) not in self._done:
            self._done[id(value)] = self._record(value)
        return self._done[id(value)]

    def _record(self, record: Any) -> Any:  # noqa: ANN401 (any class of the model)
        changes = {}
        for field in fields(record):
            before = getattr(record, field.name)
            after = self._path(before) if field.name in _PATHS else self.value(before)
            if after != before:
                changes[field.name] = after
        return replace(record, **changes) if changes else record

    def _path(self, path: str) -> str:
        stripped = self._privacy.stripped(path)
        if stripped != path:
            self.originals[stripped] = path
        return stripped
