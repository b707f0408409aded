"""The formats of reports: one table for the options, their help and the writing.

Modules are named, not imported: a watched program does not wait for them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol

    from leakline.model.report import Report

    class Renderer(Protocol):
        """What the module of a format offers."""

        def render(
            self, report: Report, folder: Path, **choices: object
        ) -> str | bytes:
            """The whole report; files below `folder` are named relative to it."""


# Formats that people and programs read with everything a report holds.
TEXT = "text"
JSON = "json"
HTML = "html"
MEMCHECK = "memcheck"
VALGRIND_XML = "valgrind-xml"
# Format to the module in `leakline.reports` that writes it.
MODULES = {
    JSON: "json_",
    "sarif": "sarif",
    MEMCHECK: "memcheck",
    VALGRIND_XML: "valgrind_xml",
    "pprof": "pprof",
    "collapsed": "collapsed",
    "speedscope": "speedscope",
    "junit": "junit",
    "github": "github",
}
FORMATS = (TEXT, HTML, *MODULES)
# Formats that are no text: they go to a file, never to a terminal.
BINARY = frozenset({"pprof"})
# Formats that can carry generated suppressions beside the findings.
WITH_SUPPRESSIONS = (TEXT, JSON, HTML, MEMCHECK, VALGRIND_XML)
# Those of them that can carry Valgrind's only, beside each error.
AS_VALGRIND = frozenset({MEMCHECK, VALGRIND_XML})
# Formats from which --quiet leaves out what is no finding.
WITH_QUIET = (TEXT, MEMCHECK)


def render(name: str, report: Report, folder: Path, **choices: object) -> bytes:
    """The report in a format of the table, in the encoding of files.

    `choices` are what the format's own `render` takes besides.
    """
    module: Renderer = import_module(f"leakline.reports.{MODULES[name]}")
    written = module.render(report, folder, **choices)
    if isinstance(written, bytes):
        return written
    return written.encode(errors="backslashreplace")
