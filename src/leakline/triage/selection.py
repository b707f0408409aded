"""Which findings a report shows, and in what order."""

from dataclasses import replace

from leakline.errors import UsageError
from leakline.model.finding import HELD, Finding, Kind
from leakline.model.report import Report

# Words of --show; also the order in which a report shows the kinds.
SHOWABLE = {
    "lost": Kind.LOST,
    "indirect": Kind.INDIRECT,
    "stale": Kind.STALE,
    "never-used": Kind.NEVER_USED,
    "reachable": Kind.REACHABLE,
}

_KIND_ORDER = {kind: index for index, kind in enumerate(Kind)}


def parse_kinds(text: str) -> frozenset[Kind]:
    """The kinds that a comma-separated list names; `all` names every one.

    Raises:
        UsageError: A word names no kind.
    """
    words = [word.strip() for word in text.split(",")]
    kinds: set[Kind] = set()
    for word in words:
        if word == "all":
            kinds.update(SHOWABLE.values())
        elif word in SHOWABLE:
            kinds.add(SHOWABLE[word])
        else:
            raise UsageError(
                f"there is no kind {word!r} to show; "
                f"the kinds are {', '.join(SHOWABLE)} and all"
            )
    return frozenset(kinds)


def select(
    report: Report, kinds: frozenset[Kind], top: int | None, sort: str | None = None
) -> Report:
    """Ranks the findings and hides those of other kinds and those behind the top.

    `sort` is what comes first among findings of one kind: bytes, objects or drag; None
    is drag for what is merely unused, and bytes for leaks.
    """
    ranked = sorted(report.findings, key=lambda finding: _rank(finding, sort))
    # What only the checker finds is always wanted: --show names kinds of blocks.
    wanted_kinds = kinds | (frozenset(Kind) - frozenset(SHOWABLE.values()))
    wanted = [finding for finding in ranked if finding.kind in wanted_kinds]
    unwanted = [finding for finding in ranked if finding.kind not in wanted_kinds]
    cut = len(wanted) if top is None else top
    return replace(
        report,
        findings=tuple(wanted[:cut]),
        hidden=report.hidden + tuple(wanted[cut:]) + tuple(unwanted),
    )


def has_leaks(report: Report) -> bool:
    """Whether anything is wrong that no suppression covers, shown or not."""
    return any(finding.kind not in HELD for finding in report.findings + report.hidden)


def _rank(finding: Finding, sort: str | None) -> tuple[float | str, ...]:
    """Sorts by kind, then what is asked for; the rest makes the order total."""
    total_bytes = finding.bytes + finding.indirect_bytes
    total_blocks = finding.blocks + finding.indirect_blocks
    totals = -total_bytes, -total_blocks, -finding.bytes, -finding.blocks
    if sort is None and finding.kind in HELD:
        sort = "drag"
    asked = {"objects": -total_blocks, "drag": -(finding.drag_byte_s or 0)}
    return (_KIND_ORDER[finding.kind], asked.get(sort or "", 0), *totals, finding.id)
