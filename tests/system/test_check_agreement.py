"""What a run of a program shows and what the checker says of its source agree.

Both look at the same programs, and are compared by the lines that allocate. A block that
the run shows as lost must be found in the source, unless a function on its stack begins
with `FN_`; nothing may be called lost that the run shows to be held or freed, unless the
run did not come that way or a function begins with `FP_`. A comment before each such
function gives the reason, and a difference that vanished fails, too.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leakline.model.finding import Finding, Kind
from leakline.static.analysis import AnalysisOptions, analyse
from leakline.static.capture.command import Compilation
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import find_toolchain
from leakline.static.facts_reader import parse_facts
from leakline.static.models.library import load_models
from leakline.static.program import Program

from .conftest import PROGRAMS, Outcome

INCLUDE = PROGRAMS.parents[1] / "native/include"
FLAGS = ("-D_GNU_SOURCE", f"-I{INCLUDE}")
MODELS = load_models()
KNOWN_DIFFERENCE = re.compile(r"\bF[NP]_\w+")

# Programs that end by themselves, with the words that they are started with.
RUNS: dict[str, tuple[str, ...]] = {
    "accesses_crowded.c": (),
    "accesses_idle.c": (),
    "accesses_kernel.c": (),
    "accesses_made_code.c": (),
    "accesses_memory.c": (),
    "accesses_namespaces.c": (),
    "accesses_own_text.c": (),
    "accesses_reused.c": (),
    "accesses_siblings.c": (),
    "accesses_story.c": (),
    "allocation_exhausted.c": (),
    "allocation_new.cpp": (),
    "allocation_results.c": (),
    "cc_births.c": (),
    "cc_contexts.c": (),
    "cc_around.c": (),
    "cc_copies.c": (),
    "cc_deleted.cpp": (),
    "cc_exits.cpp": (),
    "cc_passed.cpp": (),
    "cc_freed.c": (),
    "cc_handlers.c": (),
    "cc_jumps.c": (),
    "cc_language.c": (),
    "cc_leaving.c": (),
    "cc_library.c": (),
    "cc_objects.cpp": (),
    "cc_unions.c": (),
    "cc_skips.c": (),
    "cc_threads.c": (),
    "cc_variables.c": (),
    "cc_ways.c": (),
    "comparison.cpp": (),
    "dead_scopes.c": (),
    "dead_scopes_threads.c": (),
    "explain_handover.c": ("more",),
    "injected_leaks.c": (),
    "joined_statements.c": (),
    "loss_births.c": (),
    "loss_causes.cpp": (),
    "loss_cleared.c": (),
    "loss_forked.c": (),
    "loss_held_longer.c": (),
    "loss_memory.c": (),
    "loss_modes.c": (),
    "loss_own_code.c": (),
    "loss_references.c": (),
    "loss_scopes.c": (),
    "own_allocator.c": (),
    "own_suppressions.c": (),
    "pages_behaviour.c": ("advise",),
    "pages_hostile.c": ("locked",),
    "pages_many_stacks.c": (),
    "pages_staleness.c": ("0.1",),
    "pages_touched.c": (),
    "patch_crowded.c": (),
    "patch_robustness.cpp": (),
    "process_bad_frees.c": ("twice",),
    "process_children.c": ("fork",),
    "process_ends.c": ("return",),
    "process_fixed_place.c": (),
    "process_handlers.c": ("allocate", "1000"),
    "process_interface.c": (),
    "process_masked.c": (),
    "process_own_malloc.c": (),
    "process_privileges.c": ("seteuid",),
    "process_signals.c": (),
    "process_storm.c": (),
    "process_threads.c": (),
    "reach_allocation_functions.c": (),
    "reach_annotations.c": (),
    "reach_containers.c": (),
    "reach_cpp.cpp": (),
    "reach_dead_slots.c": (),
    "reach_early_and_late.c": (),
    "reach_many_stacks.c": (),
    "reach_mappings.c": (),
    "reach_red_zone.c": (),
    "reach_references.c": (),
    "reach_threads.c": (),
    "report_sample.c": (),
}
# Plug-ins, and the programs that load them.
HOSTS = {"plugin_holding.c": "loss_unloading.c", "plugin_leaky.c": "reach_plugins.c"}
# Programs whose run is not looked at when it ends, or that never end.
NOT_RUN = {
    "counts_interrupts.c": "waits for a signal",
    "leaking_server.c": "goes on for ever",
    "loss_changes.c": "loses its block in every other run",
    "loss_periodic.c": "is killed before a last look",
    "loss_recurring.c": "goes on for ever",
    "old_words.c": "hides its loss unless freed blocks are cleared",
    "pages_sparse.c": "works for minutes unless its memory is compacted",
    "process_sandbox.c": "forbids the last look",
    "process_sleeps.c": "waits for a signal",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """What one of the two calls lost.

    Attributes:
        lines: Lines of the program that allocate or resize such blocks.
        names: Known differences among the functions on the way to them.
        path: Lines on the way to the loss; none for a run.
        is_led_to: Another lost block leads to these, and the checker reports that.
    """

    lines: frozenset[int]
    names: frozenset[str]
    path: frozenset[int] = frozenset()
    is_led_to: bool = False


def shown_by_run(outcome: Outcome, source: str) -> list[Loss]:
    """What the run lost."""
    return [
        Loss(
            nearest_line(finding["allocation"]["frames"], source),
            names(finding),
            is_led_to=finding["kind"] == "indirectly lost",
        )
        for finding in outcome.report["findings"]
        if finding["kind"] in ("lost", "indirectly lost")
    ]


def nearest_line(frames: Iterable[dict[str, Any]], source: str) -> frozenset[int]:
    lines = [frame["line"] for frame in frames if is_in(frame["file"], source)]
    return frozenset(lines[:1])


def is_in(file: str | None, source: str) -> bool:
    return file is not None and Path(file).name == source


def names(finding: dict[str, Any]) -> frozenset[str]:
    frames = finding["allocation"]["frames"]
    return differences(frame["function"] for frame in frames)


def differences(functions: Iterable[str]) -> frozenset[str]:
    return frozenset(KNOWN_DIFFERENCE.findall(" ".join(functions)))


def found_in_source(source: Path, folder: Path) -> list[Loss]:
    """What the checker calls lost."""
    compilation = Compilation(source.parent, source.name, FLAGS, folder / "unit.o")
    extracted = extract(compilation, find_toolchain(), folder)
    assert extracted.facts is not None, extracted.failure
    program = Program([parse_facts(extracted.facts, source.name)])
    found = analyse(program, MODELS, AnalysisOptions())
    assert [status for status in found.functions if not status.complete] == []
    lost = (finding for finding in found.findings if finding.kind is Kind.LOST)
    return [loss_of(finding, source.name) for finding in lost]


def loss_of(finding: Finding, source: str) -> Loss:
    frames = finding.allocation.frames
    lines = [frame.line for frame in frames if is_in(frame.file, source)][:1]
    steps = [step for step in finding.path if is_in(step.file, source)]
    lines += [step.line for step in steps if step.event.startswith("resized")]
    return Loss(
        frozenset(line for line in lines if line),
        differences(frame.function for frame in frames),
        frozenset(step.line for step in steps),
    )


def built(name: str, build: Callable[..., Path], folder: Path) -> Path:
    """The program; one has a statement that only clang knows."""
    if name != "cc_variables.c":
        return build(name, "-O0", "-w", f"-I{INCLUDE}")
    target = folder / "program"
    source = str(PROGRAMS / name)
    command = ["clang-19", "-g", "-O0", "-w", *FLAGS, source, "-o", str(target)]
    subprocess.run(command, check=True, timeout=120)
    return target


def agree(source: Path, shown: list[Loss], found: list[Loss], folder: Path) -> None:
    """Compare; `folder` is for another run that counts lines."""
    lost = {line for loss in shown for line in loss.lines}
    reported = {line for loss in found for line in loss.lines}
    missed = [loss for loss in shown if not loss.lines & reported]
    assert [loss for loss in missed if not (loss.names or loss.is_led_to)] == []
    alarms = [loss for loss in found if not loss.lines & lost]
    unnamed = [loss for loss in alarms if not loss.names]
    if unnamed:
        passed = lines_passed(source, RUNS[source.name], folder)
        assert [loss for loss in unnamed if loss.path <= passed] == []
    text = source.read_text()
    named = {name for loss in (*missed, *alarms) for name in loss.names}
    assert named == set(KNOWN_DIFFERENCE.findall(text))
    assert [name for name in named if not has_reason(text, name)] == []


def has_reason(text: str, name: str) -> bool:
    """Whether a comment before the function, or a list of such, says why it differs."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if name in line)
    word = "Missed" if name.startswith("FN_") else "Reported"
    above = (line for line in reversed(lines[:first]) if f"({name[:3]}" not in line)
    return next(above).startswith(f"// {word} by the checker: ")


def lines_passed(source: Path, words: tuple[str, ...], folder: Path) -> frozenset[int]:
    """The lines of a program that a run with these words comes by."""
    flags = ["-O0", "-w", "--coverage", "-pthread", *FLAGS]
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    command = [compiler, *flags, str(source), "-o", "counted"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    subprocess.run(["./counted", *words], cwd=folder, check=False, timeout=120)
    (notes,) = folder.glob("*.gcno")
    gcov = ["gcov", "--json-format", "--stdout", notes.name]
    counted = subprocess.run(gcov, cwd=folder, check=True, capture_output=True)
    return frozenset(
        line["line_number"]
        for file in json.loads(counted.stdout)["files"]
        if is_in(file["file"], source.name)
        for line in file["lines"]
        if line["count"]
    )


@pytest.mark.parametrize("name", RUNS)
def test_source_and_run_agree(
    name: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    outcome = watch([built(name, build, tmp_path), *RUNS[name]])
    source = PROGRAMS / name
    found = found_in_source(source, tmp_path)
    agree(source, shown_by_run(outcome, name), found, tmp_path)


@pytest.mark.parametrize("name", HOSTS)
def test_source_and_run_of_a_plugin_agree(
    name: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    plugin = build(name, "-O0", "-w", "-shared", "-fPIC")
    outcome = watch([build(HOSTS[name], "-O0", "-w"), plugin])
    source = PROGRAMS / name
    found = found_in_source(source, tmp_path)
    agree(source, shown_by_run(outcome, name), found, tmp_path)


def test_every_program_is_run_or_cannot_be() -> None:
    names = {path.name for path in PROGRAMS.glob("*.c*")}
    names -= {path.name for path in PROGRAMS.glob("static_*")}
    assert names == {*RUNS, *HOSTS, *HOSTS.values(), *NOT_RUN}
