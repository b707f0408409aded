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
HANDED = "the variable is handed to inline assembly, which might keep what it holds"
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
    "unmapped_bad": "what a mapping holds is not followed",
    "at_munmap_bad": "what a mapping holds is not followed",
    "at_thread_exit_bad": "variables of a thread are globals to the checker",
    "at_pthread_exit_bad": HANDED,
    "in_unique_bad": HANDED,
    "in_global_array_bad": "an element at an unknown index may be another one",
    "cleared_record_bad": HANDED,
    "cleared_in_loop_bad": HANDED,
    "cleared_table_bad": HANDED,
    "copied_over_bad": HANDED,
    "shared_pointer_ring_bad": "counters of references may stand for other owners",
}
# Found in the source, not lost in the run.
ALARMS = {
    "suspended_coroutine_ok": "calls are taken to come back, as a coroutine might",
    "disabled_ok": "the program asks runs, not readers of its source, to look away",
}
RUNNABLE = (
    "cc_objects.cpp",
    "dead_scopes.c",
    "loss_births.c",
    "loss_causes.cpp",
    "loss_cleared.c",
    "loss_memory.c",
    "loss_scopes.c",
    "reach_allocation_functions.c",
    "reach_annotations.c",
    "reach_containers.c",
    "reach_cpp.cpp",
    "reach_dead_slots.c",
    "reach_early_and_late.c",
    "reach_many_stacks.c",
    "reach_mappings.c",
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
