"""What Memcheck calls our findings, in its text and its XML alike."""

from leakline.model.finding import Finding, Kind

# Memcheck's kind of error, and what it says of such blocks.
_LEAKS = {
    Kind.LOST: ("Leak_DefinitelyLost", "definitely lost"),
    Kind.INDIRECT: ("Leak_IndirectlyLost", "indirectly lost"),
    Kind.REACHABLE: ("Leak_StillReachable", "still reachable"),
    Kind.STALE: ("Leak_StillReachable", "still reachable, but stale,"),
    Kind.NEVER_USED: ("Leak_StillReachable", "still reachable, but were never used,"),
}
# The same for what is no leak.
_MISUSES = {
    Kind.DOUBLE_FREE: ("InvalidFree", "Memory is released twice"),
    Kind.USE_AFTER_FREE: ("InvalidRead", "Memory is used after its release"),
    Kind.MISMATCHED_RELEASE: (
        "MismatchedFree",
        "Memory is released by a function that does not belong to its allocation",
    ),
    Kind.NULL_DEREFERENCE: (
        "InvalidRead",
        "The result of an allocation is used without a check",
    ),
}


def is_memory(kind: Kind) -> bool:
    """Whether such a finding counts blocks that were not released."""
    return kind in _LEAKS


def memcheck_words(number: int, total: int, finding: Finding) -> tuple[str, str]:
    """Memcheck's kind of error and its sentence; `number` counts from 0."""
    if finding.kind in _MISUSES:
        return _MISUSES[finding.kind]
    kind, state = _LEAKS[finding.kind]
    return kind, (
        f"{_size(finding)} bytes in {finding.blocks:,} blocks are {state} "
        f"in loss record {number + 1:,} of {total:,}"
    )


def _size(finding: Finding) -> str:
    if not finding.indirect_bytes:
        return f"{finding.bytes:,}"
    total = finding.bytes + finding.indirect_bytes
    return f"{total:,} ({finding.bytes:,} direct, {finding.indirect_bytes:,} indirect)"
