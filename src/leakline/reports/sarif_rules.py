"""What SARIF says once for all findings of a kind: rule, help and severity."""

from typing import Any, NamedTuple

from leakline.model.finding import HELD, Confidence, Finding, Kind


class Rule(NamedTuple):
    """A rule of the SARIF log; `cwe` is the weakness that it belongs to, or 0."""

    id: str
    name: str
    short: str
    help: str
    cwe: int


RULES = {
    Kind.LOST: Rule(
        "leak",
        "MemoryLeak",
        "Memory is lost without being released.",
        "No reference to the memory is left, so it can never be released. Release it "
        "where the last reference goes away, or keep a reference for whoever does.",
        401,
    ),
    Kind.INDIRECT: Rule(
        "indirect-leak",
        "IndirectLeak",
        "Memory is reachable only from memory that is lost.",
        "Mend the leak that leads here first: a release of the whole structure, not of "
        "its first part only, mends both.",
        401,
    ),
    Kind.REACHABLE: Rule(
        "reachable",
        "ReachableAtExit",
        "Memory is still reachable when the program ends.",
        "Something still refers to the memory. That is harmless for memory that lives "
        "as long as the program, and a leak when it grows with the work done.",
        0,
    ),
    Kind.STALE: Rule(
        "stale",
        "StaleMemory",
        "Memory was not used for long.",
        "Something may still refer to the memory, but nobody used it for long. Look "
        "for caches without limits and lists from which nothing is removed.",
        401,
    ),
    Kind.NEVER_USED: Rule(
        "never-used",
        "NeverUsed",
        "Memory was never used.",
        "The memory was allocated and not touched since. Allocate it later, or not at "
        "all.",
        0,
    ),
    Kind.DOUBLE_FREE: Rule(
        "double-free",
        "DoubleFree",
        "Memory is released twice.",
        "Release it once: set the pointer to NULL after the release, or give one owner "
        "the duty.",
        415,
    ),
    Kind.USE_AFTER_FREE: Rule(
        "use-after-free",
        "UseAfterFree",
        "Memory is used after it was released.",
        "Release the memory after its last use, or drop the pointer with the release.",
        416,
    ),
    Kind.MISMATCHED_RELEASE: Rule(
        "mismatched-release",
        "MismatchedRelease",
        "Memory is released by a function that does not belong to its allocation.",
        "Use the function that belongs to the allocation: free for malloc, delete for "
        "new, delete[] for new[], fclose for fopen.",
        762,
    ),
    Kind.NULL_DEREFERENCE: Rule(
        "null-dereference",
        "NullDereference",
        "The result of an allocation is used without a check.",
        "Check the result of the allocation before it is used.",
        476,
    ),
}
_INDICES = {kind: index for index, kind in enumerate(RULES)}


def described() -> list[dict[str, Any]]:
    """All rules, in the order that `index_of` counts."""
    return [_described(kind, rule) for kind, rule in RULES.items()]


def index_of(kind: Kind) -> int:
    """The place of a kind's rule in the list of rules."""
    return _INDICES[kind]


def level(finding: Finding) -> str:
    """How loud a result is."""
    if finding.kind in HELD:
        return "note"
    return "error" if finding.confidence is Confidence.EXACT else "warning"


def _described(kind: Kind, rule: Rule) -> dict[str, Any]:
    weakness = [f"external/cwe/cwe-{rule.cwe}"] if rule.cwe else []
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": f"{rule.short} {rule.help}"},
        "help": {"text": rule.help, "markdown": rule.help},
        "defaultConfiguration": {"level": "note" if kind in HELD else "error"},
        "properties": {"tags": ["memory", *weakness], "precision": "high"},
    }
