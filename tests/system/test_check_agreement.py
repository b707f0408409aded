"""What a run of a program shows and what the checker says of its source agree.

Both engines look at the same programs. A block that the run shows as lost must be
found in the source, and nothing may be called lost that the run shows to be held or
freed; differences are listed here with their reasons, and fail when they vanish.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.model.finding import Kind
from leakline.static.analysis import AnalysisOptions, analyse
from leakline.static.capture.command import Compilation
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import find_toolchain
from leakline.static.facts_reader import parse_facts
from leakline.static.models.library import load_models
from leakline.static.program import Program

from .conftest import PROGRAMS, Outcome
from .test_corpus import verdicts

INCLUDE = PROGRAMS.parents[1] / "native/include"
FLAGS = ("-D_GNU_SOURCE", f"-I{INCLUDE}")
MODELS = load_models()

LED_TO = "reported with the lost block that leads to it"
HANDED = "the variable is handed to inline assembly, which might keep what it holds"
JUMP = "which label a computed jump takes is not known"
RESIZED = "the run counts a block from realloc on, the checker from its allocation"
SCOPE = "where a scope ends without a return is not in the facts"

# Lost in the run, not found in the source; with the program where the name is not enough.
MISSED = {
    "disguised_pointer_bad": "the pointer is hidden in a number, which might be kept",
    "holder_of_memory_lost_indirect_bad": LED_TO,
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
    "in_vector_bad": "what a vector does when it grows is joined with what it does else",
    "in_global_array_bad": "an element at an unknown index may be another one",
    "cleared_record_bad": HANDED,
    "cleared_in_loop_bad": HANDED,
    "cleared_table_bad": HANDED,
    "loss_cleared.c:copied_over_bad": HANDED,
    "shared_pointer_ring_bad": "counters of references may stand for other owners",
    "left_by_computed_jump_bad": JUMP,
    "overwritten_between_jumps_bad": JUMP,
    "replaced_by_getline_bad": "getline allocates anew only where the size is 0",
    "sorted_bad": "an element at an unknown index may be another one",
    "cc_threads.c:overwritten_bad": "one call keeps it, and only the next one loses it",
    "failed_realloc_bad": "resizing is taken to work, and a volatile may have changed",
    "in_small_bad": "an element at an unknown index may be another one",
    "in_large_bad": "an element at an unknown index may be another one",
}
# Found in the source, not lost in the run.
ALARMS = {
    "suspended_coroutine_ok": "calls are taken to come back, as a coroutine might",
    "moved_ok": RESIZED,
    "disabled_ok": "the program asks runs, not readers of its source, to look away",
}
# Programs that end by themselves, with the words that they are started with.
RUNS: dict[str, tuple[str, ...]] = {
    "accesses_idle.c": (),
    "accesses_kernel.c": (),
    "accesses_story.c": (),
    "cc_jumps.c": (),
    "cc_library.c": (),
    "cc_objects.cpp": (),
    "cc_skips.c": (),
    "cc_threads.c": (),
    "cc_variables.c": (),
    "dead_scopes.c": (),
    "joined_statements.c": (),
    "loss_births.c": (),
    "loss_causes.cpp": (),
    "loss_cleared.c": (),
    "loss_forked.c": (),
    "loss_memory.c": (),
    "loss_modes.c": (),
    "loss_own_code.c": (),
    "loss_references.c": (),
    "loss_scopes.c": (),
    "own_allocator.c": (),
    "process_children.c": ("fork",),
    "process_ends.c": ("return",),
    "process_interface.c": (),
    "process_masked.c": (),
    "process_privileges.c": ("seteuid",),
    "process_threads.c": (),
    "reach_allocation_functions.c": (),
    "reach_annotations.c": (),
    "reach_containers.c": (),
    "reach_cpp.cpp": (),
    "reach_dead_slots.c": (),
    "reach_early_and_late.c": (),
    "reach_many_stacks.c": (),
    "reach_mappings.c": (),
    "reach_references.c": (),
    "reach_threads.c": (),
}
# Programs whose run is not looked at when it ends, or that never end.
NOT_RUN = {
    "loss_changes.c": "loses its block in every other run",
    "loss_periodic.c": "is killed before a last look",
    "loss_recurring.c": "goes on for ever",
    "plugin_holding.c": "is no program",
    "plugin_leaky.c": "is no program",
    "process_sandbox.c": "forbids the last look",
    "process_sleeps.c": "waits for a signal",
}


def found_in_source(source: Path, folder: Path) -> set[str]:
    """The words in the names of functions whose blocks the checker calls lost."""
    compilation = Compilation(source.parent, source.name, FLAGS, folder / "unit.o")
    extracted = extract(compilation, find_toolchain(), folder)
    assert extracted.facts is not None, extracted.failure
    program = Program([parse_facts(extracted.facts, source.name)])
    found = analyse(program, MODELS, AnalysisOptions())
    return {
        name
        for finding in found.findings
        if finding.kind is Kind.LOST
        for frame in finding.allocation.frames
        for name in re.findall(r"\w+", frame.function)
    }


def built(name: str, build: Callable[..., Path], folder: Path) -> Path:
    """The program; one has a statement that only clang knows."""
    if name != "cc_variables.c":
        return build(name, "-O0", "-Wno-maybe-uninitialized", f"-I{INCLUDE}")
    target = folder / "program"
    source = str(PROGRAMS / name)
    command = ["clang-19", "-g", "-O0", "-w", *FLAGS, source, "-o", str(target)]
    subprocess.run(command, check=True, timeout=120)
    return target


@pytest.mark.parametrize("name", RUNS)
def test_source_and_run_agree(
    name: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    names = verdicts(PROGRAMS / name)
    outcome = watch([built(name, build, tmp_path), *RUNS[name]])
    lost = names & outcome.functions("lost", "indirectly lost")
    found = names & found_in_source(PROGRAMS / name, tmp_path)
    assert lost - found == listed(MISSED, name, names)
    assert found - lost == listed(ALARMS, name, names)


def listed(reasons: dict[str, str], program: str, names: set[str]) -> set[str]:
    """Functions of a program that a table of differences has."""
    return {one for one in names if not {one, f"{program}:{one}"}.isdisjoint(reasons)}


def test_every_program_with_verdicts_is_run_or_cannot_be() -> None:
    sources = [path for path in PROGRAMS.glob("*.c*") if verdicts(path)]
    names = {path.name for path in sources if not path.name.startswith("static_")}
    assert names == RUNS.keys() | NOT_RUN.keys()
