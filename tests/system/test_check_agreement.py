"""What a run of a program shows and what the checker says of its source agree.

Both engines look at the same programs. A block that the run shows as lost must be
found in the source, and nothing may be called lost that the run shows to be held or
freed; differences are listed here with their reasons, and fail when they vanish.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import LEAKLINE, PROGRAMS, Outcome
from .test_corpus import verdicts

LED_TO = "reported with the lost block that leads to it"
SCOPE = "where a scope ends without a return is not in the facts"

# Lost in the run, not found in the source.
MISSED = {
    "disguised_pointer_bad": "the pointer is hidden in a number, which might be kept",
    "tail_indirect_bad": LED_TO,
    "subtree_indirect_bad": LED_TO,
    "scope_ended_bad": SCOPE,
    "members_of_ended_scope_bad": SCOPE,
    "loop_ended_bad": SCOPE,
    "ended_thread_local_bad": "variables of a thread are globals to the checker",
    "root_region_bad": "handed to a function whose source is not there",
    "shared_pointer_ring_bad": "counters of references may stand for other owners",
}
# Found in the source, not lost in the run.
ALARMS = {
    "disabled_ok": "the program asks runs, not readers of its source, to look away",
}
RUNNABLE = (
    "dead_scopes.c",
    "loss_memory.c",
    "loss_scopes.c",
    "reach_allocation_functions.c",
    "reach_annotations.c",
    "reach_containers.c",
    "reach_cpp.cpp",
    "reach_dead_slots.c",
    "reach_early_and_late.c",
    "reach_references.c",
    "reach_threads.c",
)


def found_in_source(source: Path, cache: Path) -> set[str]:
    """The words in the names of functions whose blocks the checker calls lost."""
    done = subprocess.run(
        [LEAKLINE, "check", "--format", "json", source],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode in (0, 23), done.stderr
    return {
        name
        for finding in json.loads(done.stdout)["findings"]
        for frame in finding["allocation"]["frames"]
        for name in re.findall(r"\w+", frame["function"])
    }


@pytest.mark.parametrize("name", RUNNABLE)
def test_source_and_run_agree(
    name: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    source = PROGRAMS / name
    names = verdicts(source)
    lost = names & watch([build(name, "-O0")]).functions("lost", "indirectly lost")
    found = names & found_in_source(source, tmp_path)
    assert lost - found == names & MISSED.keys()
    assert found - lost == names & ALARMS.keys()
