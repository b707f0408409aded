"""`--refine` finds the line at which a variable lost its block, in a second run."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import LEAKLINE, PROGRAMS, Outcome
from .test_loss_scopes import PROGRAM, births, expected, expected_births, losses


def test_unoptimised_code_gives_the_exact_line(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, "-O0")], "--refine")
    assert births(outcome) == expected_births()
    found = losses(outcome)
    for name, wanted in expected().items():
        loss = found[name]
        here = loss["frames"][0]
        assert here["function"] == wanted.function, name
        assert loss["precision"] == "exact", name
        # In a loop the variable is overwritten by the next block before it goes.
        if name != "loop_bad":
            assert (loss["cause"], here["line"]) == (wanted.cause, wanted.line), name
        assert loss["slot"] == wanted.variable, name
        assert loss["frames"][1]["line"] > 0
    assert found["loop_bad"]["cause"] == "overwritten"


@pytest.mark.parametrize("optimisation", ["-O1", "-O2", "-O3"])
def test_optimised_code_gives_the_function_and_says_how_exact(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, optimisation)], "--refine")
    assert births(outcome) == expected_births()
    found = losses(outcome)
    for name, wanted in expected().items():
        loss = found[name]
        assert loss["frames"][0]["function"] == wanted.function, name
        assert loss["slot"] == wanted.variable, name
        assert loss["precision"] in ("exact", "line-table", "window"), name
        assert loss["frames"][0]["line"] > 0, name


def test_the_path_leads_from_the_allocation_to_the_loss(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build(PROGRAM, "-O0")], "--refine")
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    (path,) = [
        finding["path"]
        for finding in outcome.report["findings"]
        if finding["allocation"]["frames"][0]["function"] == "early_return_bad"
    ]
    passed = [lines[step["line"] - 1].strip().partition(" //")[0] for step in path]
    at = passed.index("char* buffer = early_return_bad(200);")
    wanted = ["strcpy(buffer, text);", "if (text[0] == '!') {", "return 1;"]
    assert passed[at + 1 : at + 4] == wanted


IN_MEMORY = ("overwritten", "current")
MARK = re.compile(r"// loss\((\w+)\): (\w+) \[([\w-]+)\]")


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_what_a_variable_holds_for_longer_than_memory_is_followed(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("loss_held_longer.c", optimisation)], "--refine")
    found = {
        finding["allocation"]["frames"][0]["function"]: finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }
    dead = found.pop("FN_dead_in_caller_bad")["loss"]
    holder = ("out-of-scope", "looked") if optimisation == "-O0" else IN_MEMORY
    assert (dead["cause"], dead["slot"]) == holder
    lines = (PROGRAMS / "loss_held_longer.c").read_text().splitlines()
    marks = {
        mark[1]: (number, mark[2], mark[3])
        for number, line in enumerate(lines, 1)
        if (mark := MARK.search(line))
    }
    assert found.keys() == marks.keys()
    for name, (line, slot, in_memory) in marks.items():
        loss = found[name]["loss"]
        is_later = name != "FN_replaced_bad"
        assert loss["cause"] == ("out-of-scope" if is_later else in_memory), name
        assert loss["slot"] == slot, name
        here = loss["frames"][0]["line"]
        # Optimised code returns from another line than the statement's.
        assert line == here if optimisation == "-O0" else line - 1 <= here <= line, name
        began = "the last reference in memory: "
        assert found[name]["path"][0]["event"].startswith(began), name
        notes = " ".join(found[name]["notes"])
        assert ("the last reference in memory had gone before" in notes) == is_later


def test_without_debug_information_no_line_is_told(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("loss_held_longer.c", "-O2", "-g0")], "--refine")
    found = {
        finding["allocation"]["frames"][0]["function"]: finding
        for finding in outcome.report["findings"]
    }
    replaced = found["FN_replaced_bad"]
    assert replaced["loss"]["frames"][0]["function"] == "replace"
    assert not any(finding["path"] for finding in found.values())
    # A register held it, whose function is known.
    popped = found["FN_popped_bad"]["loss"]
    assert (popped["cause"], popped["precision"]) == ("out-of-scope", "function")
    assert popped["frames"][0]["function"] == "read_popped"


def test_the_text_tells_that_nothing_held_the_block_for_longer(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    report = tmp_path / "report"
    program = build("loss_held_longer.c", "-O0")
    command: list[Any] = [LEAKLINE, "run", "--refine", "--report-file", report]
    subprocess.run([*command, "--", program], check=False, timeout=120)
    text = report.read_text()
    assert "the last reference was lost here, overwritten (`current`):" in text
    assert "the last reference in memory was lost here" not in text


def test_a_program_that_does_not_repeat_itself_is_called_out(
    build: Callable[..., Path], watch: Callable[..., Outcome], tmp_path: Path
) -> None:
    program = build("loss_changes.c", "-O0")
    outcome = watch([program, tmp_path / "mark"], "--refine")
    (finding,) = [one for one in outcome.report["findings"] if one["kind"] == "lost"]
    assert any("second run freed this block" in note for note in finding["notes"])
    assert finding["loss"]["precision"] == "probable"
    assert any("did not repeat" in text for text in outcome.report["run"]["not_seen"])
    assert outcome.returncode == 23


def test_what_the_program_starts_is_refined_too(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build(PROGRAM, "-O0")
    outcome = watch(["sh", "-c", f"{program}; {program}"], "--refine")
    loss = losses(outcome)["early_return_bad"]
    wanted = expected()["early_return_bad"]
    assert (loss["precision"], loss["slot"]) == ("exact", wanted.variable)
    assert loss["frames"][0]["line"] == wanted.line
    assert not any("repeat" in text for text in outcome.report["run"]["not_seen"])


def test_a_child_that_runs_no_other_program_is_refined_too(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([build("loss_forked.c", "-O0")], "--refine")
    found = {
        finding["allocation"]["frames"][0]["function"]: finding["loss"]
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
    }
    lines = (PROGRAMS / "loss_forked.c").read_text().splitlines()
    for name in ("held_in_child_bad", "held_in_parent_bad"):
        loss = found[name]
        assert (loss["cause"], loss["precision"]) == ("out-of-scope", "exact")
        line = lines[loss["frames"][0]["line"] - 1]
        assert f"loss({name}): {loss['slot']}" in line


def test_the_second_run_is_not_seen(build: Callable[..., Path], tmp_path: Path) -> None:
    program = build(PROGRAM, "-O0")
    report = tmp_path / "report.txt"
    command: list[Any] = [LEAKLINE, "run", "--refine", "--report-file", report]
    done = subprocess.run(
        [*command, "--", program], capture_output=True, check=False, timeout=120
    )
    plain = subprocess.run([program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)


def test_a_kept_recording_tells_the_same(
    build: Callable[..., Path], watch: Callable[..., Outcome], tmp_path: Path
) -> None:
    recording = tmp_path / "kept"
    outcome = watch([build(PROGRAM, "-O0")], "--refine", "-o", str(recording))
    again = subprocess.run(
        [LEAKLINE, "report", recording, "--format", "text"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "lost here, out-of-scope (`buffer`)" in again.stdout
    assert len(outcome.report["run"]["processes"]) == 1


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_a_leak_that_recurs_is_refined_in_the_same_run(
    optimisation: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    program = build("loss_recurring.c", optimisation)
    recording = tmp_path / "kept"
    options = ("--refine", "--every", "0.2", "-o", str(recording))
    outcome = watch([program, f"{recording}.watch"], *options)
    lines = (PROGRAMS / "loss_recurring.c").read_text().splitlines()
    expected = {"request_bad": ("serve", "buffer"), "answer_bad": ("send", "text")}
    for name, (function, variable) in expected.items():
        finding = _of_allocator(outcome, name)
        loss = finding["loss"]
        assert (loss["cause"], loss["slot"]) == ("out-of-scope", variable)
        here = loss["frames"][0]
        assert here["function"] == function
        assert loss["precision"] == ("exact" if optimisation == "-O0" else "line-table")
        if optimisation == "-O0":
            assert f"// loss({name})" in lines[here["line"] - 1]
        assert finding["path"]
    assert [path.name for path in tmp_path.glob("kept*")] == ["kept"]


def _of_allocator(outcome: Outcome, name: str) -> dict[str, Any]:
    """The finding about what a function allocated and lost."""
    finding: dict[str, Any]
    (finding,) = [
        finding
        for finding in outcome.report["findings"]
        if finding["kind"] == "lost"
        and finding["allocation"]["frames"][0]["function"] == name
    ]
    return finding
