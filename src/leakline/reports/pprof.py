"""Findings as a gzipped pprof profile, as `go tool pprof` and its kin read it.

A sample is a finding: its values count what is lost, and what was still allocated at
the last look. Its labels name the kind and the finding. Misuse of memory, as a double
free, has no amount and so no place in a profile.
"""

import gzip
from pathlib import Path

from leakline.model.finding import Engine, Finding, Kind
from leakline.model.report import Report
from leakline.reports.pprof_tables import Tables
from leakline.reports.protobuf import message, number, packed

# Name and unit of each value of a sample, in their order.
_VALUES = (
    ("leaked_objects", "count"),
    ("leaked_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("stale_objects", "count"),
    ("stale_space", "bytes"),
)
_DEFAULT_VALUE = "leaked_space"
_LEAKED = frozenset({Kind.LOST, Kind.INDIRECT})
_STALE = frozenset({Kind.STALE, Kind.NEVER_USED})
_ALLOCATED = _LEAKED | _STALE | {Kind.REACHABLE}


def render(report: Report, folder: Path) -> bytes:
    """The whole profile; without times, so that equal reports give equal bytes."""
    return gzip.compress(profile(report, folder), mtime=0)


def profile(report: Report, folder: Path) -> bytes:
    """The message `Profile` of pprof's profile.proto."""
    program = next(iter(report.run.command), "")
    findings = [one for one in report.findings if one.kind in _ALLOCATED]
    tables = Tables(folder, program, [one.allocation for one in findings])
    fields = [
        *(message(1, _value_type(*value, tables)) for value in _VALUES),
        *(message(2, _sample(finding, tables)) for finding in findings),
        message(11, _value_type("space", "bytes", tables)),
        number(12, 1),
        number(14, tables.string(_DEFAULT_VALUE)),
    ]
    return b"".join(fields) + tables.fields()


def _value_type(name: str, unit: str, tables: Tables) -> bytes:
    return number(1, tables.string(name)) + number(2, tables.string(unit))


def _sample(finding: Finding, tables: Tables) -> bytes:
    labels = (("kind", finding.kind.value), ("finding", finding.id))
    return b"".join(
        [
            packed(1, tables.locations(finding.allocation)),
            packed(2, _amounts(finding)),
            *(message(3, _label(key, value, tables)) for key, value in labels),
        ]
    )


def _amounts(finding: Finding) -> list[int]:
    amount = [finding.blocks, finding.bytes]
    was_seen_running = any(one is not Engine.STATIC for one in finding.engines)
    leaked = amount if finding.kind in _LEAKED else [0, 0]
    in_use = amount if was_seen_running else [0, 0]
    return leaked + in_use + (amount if finding.kind in _STALE else [0, 0])


def _label(key: str, value: str, tables: Tables) -> bytes:
    return number(1, tables.string(key)) + number(2, tables.string(value))
