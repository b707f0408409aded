"""Lens `accesses`: what was not used for long is found, with its last use."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leakline.cli.environment import runtime_library
from leakline.patching.accesses.plan_file import HEADER, SUFFIX
from leakline.recording.create import create_recording
from leakline.symbols.elf import read_elf

from .conftest import LEAKLINE, PROGRAMS, Outcome
from .test_loss_unnoticed import plan_folder

INCLUDE = PROGRAMS.parents[1] / "native/include"
RUN_MS = "900"
STRESSED_RUNS = 8
PLAIN_RUNS = 3


@pytest.fixture(scope="module")
def recording(
    build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the recording of a run with idle and busy blocks."""
    file = tmp_path_factory.mktemp("accesses") / "recording"
    program = build("accesses_idle.c", "-O1")
    options = ["--lens", "accesses", "-o", str(file), "--"]
    command = [str(LEAKLINE), "run", *options, str(program), RUN_MS]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return file


def report_of(recording: Path, *options: str) -> dict[str, Any]:
    command = [str(LEAKLINE), "report", "--format", "json", *options, str(recording)]
    done = subprocess.run(command, check=True, capture_output=True, timeout=120)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def cases(report: dict[str, Any]) -> set[str]:
    """Return the cases of the program that findings are about."""
    return {
        frame["function"]
        for finding in report["findings"]
        for frame in finding["allocation"]["frames"]
        if frame["function"].endswith(("_ok", "_stale"))
    }


def test_only_what_nobody_uses_is_stale(recording: Path) -> None:
    report = report_of(recording, "--stale", "idle>400ms")
    assert cases(report) == {"list_of_the_beginning_stale", "never_touched_stale"}
    assert {finding["kind"] for finding in report["findings"]} == {"stale"}


def test_the_last_access_is_named(recording: Path) -> None:
    report = report_of(recording, "--stale", "idle>400ms")
    (finding,) = [
        finding
        for finding in report["findings"]
        if finding["blocks"] > 1 and "accesses" in finding["engines"]
    ]
    functions = [frame["function"] for frame in finding["last_access"]["frames"]]
    assert functions[0] in {"last_look_at_idle_list", "walk", "push"}
    assert "main" in functions[1:]
    before = [stack["frames"][0]["function"] for stack in finding["used_before"]]
    assert before
    assert set(before) & {"last_look_at_idle_list", "walk", "push"}
    assert 0.4 < finding["staleness"]["upper_s"] < 3
    assert finding["drag_byte_s"] > 0.4 * finding["bytes"]


def test_predicates_choose_what_counts_as_stale(recording: Path) -> None:
    assert not report_of(recording, "--stale", "idle>50s")["findings"]
    by_activity = cases(report_of(recording, "--stale", "idle>10*active"))
    assert "list_of_the_beginning_stale" in by_activity
    assert "walked_list_ok" not in by_activity
    never = report_of(recording, "--stale", "never")
    assert "never_touched_stale" in cases(never)
    assert {finding["kind"] for finding in never["findings"]} == {"never-used"}


def test_findings_are_sorted_as_asked(recording: Path) -> None:
    for sort, measure in (("objects", "blocks"), ("drag", "drag_byte_s")):
        report = report_of(recording, "--stale", "idle>400ms", "--sort", sort)
        amounts = [finding[measure] for finding in report["findings"]]
        assert amounts == sorted(amounts, reverse=True)
        assert len(amounts) > 1


def test_a_wrong_predicate_is_refused(recording: Path) -> None:
    command = [str(LEAKLINE), "report", "--stale", "idle<3", str(recording)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "idle>N*active" in done.stderr


def test_frees_of_siblings_and_the_resolution_are_told(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("accesses_siblings.c", "-O1")
    options = ["--lens", "accesses", "--budget", "5%", "--stale", "idle>200ms"]
    report = watch([program], *options).report
    (finding,) = [one for one in report["findings"] if one["blocks"] == 100]
    freed = [stack["frames"][0]["function"] for stack in finding["sibling_frees"]]
    assert freed == ["drop_item"]
    assert any("windows of" in text for text in report["run"]["not_seen"])


def test_what_the_kernel_touches_is_in_use(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("accesses_kernel.c", "-O1")
    report = watch([program], "--lens", "accesses", "--stale", "idle>400ms").report
    assert cases(report) == {"read_once_stale"}
    (finding,) = report["findings"]
    used = [frame["function"] for frame in finding["last_access"]["frames"]]
    assert used[:2] == ["read_once_stale", "main"]


def test_the_whole_story_of_a_lost_block_is_told(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("accesses_story.c", "-O1", "-fno-optimize-sibling-calls")
    report = watch([program], "--lens", "loss,accesses", "--births").report
    (finding,) = report["findings"]
    used = finding["last_access"]["frames"]
    lost = finding["loss"]["frames"]
    assert [frame["function"] for frame in used[:2]] == [
        "length_of",
        "message_of_the_past_bad",
    ]
    assert lost[0]["function"] == "keep"
    assert finding["birth"]["frames"][0]["function"] == "keep"
    (window,) = [text for text in finding["notes"] if "free would" in text]
    assert "in `message_of_the_past_bad`, from line" in window


def test_what_both_lenses_agree_on_is_exact(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("pages_staleness.c", "-O1")
    limits = ["--stale", "idle>400ms", "--stale-after", "0.4"]
    report = watch([program, "1.2"], "--lens", "pages,accesses", *limits).report
    found = {finding["confidence"] for finding in report["findings"]}
    assert "exact" in found
    for finding in report["findings"]:
        bounds = finding["staleness"]
        if "pages" not in finding["engines"]:
            assert finding["confidence"] == "likely"
        elif bounds["upper_s"] is not None:
            assert finding["confidence"] == "exact"
            assert bounds["lower_s"] <= bounds["upper_s"]
    assert not any("contradicts" in text for text in report["run"]["not_seen"])


def test_only_code_that_was_entered_has_stubs(watch: Callable[..., Outcome]) -> None:
    outcome = watch(["cat", "/proc/self/maps"], "--lens", "accesses")
    libc = next(
        line.split()[-1] for line in outcome.stdout.splitlines() if "/libc.so" in line
    )
    plan = plan_folder() / (read_elf(Path(libc)).build_id.hex() + SUFFIX)
    mappings = HEADER.unpack_from(plan.read_bytes())[5]
    stubs = [line for line in outcome.stdout.splitlines() if " r-xs " in line]
    assert 0 < len(stubs) < mappings / 3


def test_code_whose_stubs_find_no_room_runs_and_is_counted(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("accesses_crowded.c", "-O1")
    plain = subprocess.run([program], capture_output=True, check=True, text=True)
    outcome = watch([program], "--lens", "accesses")
    assert outcome.stdout == plain.stdout
    assert sum("found no room" in text for text in outcome.report["run"]["not_seen"])


def test_code_made_at_run_time_is_named_as_not_seen(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("accesses_made_code.c", "-O1")
    outcome = watch([program], "--lens", "accesses")
    assert outcome.report["run"]["exit_code"] == 0
    assert sum("makes code" in text for text in outcome.report["run"]["not_seen"]) == 1


def test_a_snapshot_tells_what_a_running_program_does_not_use(
    build: Callable[..., Path],
) -> None:
    program = build("accesses_idle.c", "-O1")
    command = [str(LEAKLINE), "run", "--lens", "accesses", "--", str(program), "60000"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
        try:
            stale = {"list_of_the_beginning_stale", "never_touched_stale"}
            wait_until(lambda: stale <= found_by_snapshot(run))
        finally:
            run.terminate()


def found_by_snapshot(run: subprocess.Popen[bytes]) -> set[str]:
    """Return the cases that a snapshot of a run finds."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    wait_until(lambda: bool(children.read_text()))
    stale = ["--stale", "idle>300ms", "--format", "json"]
    command = [str(LEAKLINE), "snapshot", children.read_text().split()[0], *stale]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    return cases(json.loads(done.stdout)) if done.stdout else set()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_code_that_does_not_run_stays_shared() -> None:
    text = [part for part in own_mappings() if part.is_armed_text]
    assert text
    copied_kib = sum(part.copied_kib for part in text)
    assert 0 < copied_kib < sum(part.size_kib for part in text) / 2


def test_stubs_that_ran_at_the_start_do_not_stay_in_memory() -> None:
    stubs = [part for part in own_mappings() if part.is_stubs]
    assert stubs
    resident_kib = sum(part.resident_kib for part in stubs)
    assert resident_kib < sum(part.size_kib for part in stubs) / 8


def test_of_a_plan_nothing_is_mapped_that_only_its_opening_reads() -> None:
    assert not [part for part in own_mappings() if part.is_read_only]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping of a process, as the kernel tells it."""

    is_armed_text: bool
    is_stubs: bool
    is_read_only: bool
    size_kib: int
    resident_kib: int
    copied_kib: int


def told_mappings(build: Callable[..., Path], *words: str) -> list[list[Mapping]]:
    """Return the mappings of a program that runs much code, as often as it tells."""
    program = build("accesses_memory.c", "-O1", f"-I{INCLUDE}")
    command = [str(LEAKLINE), "run", "--lens", "accesses", "--error-exitcode", "0"]
    command += ["--report-file", os.devnull, "--", str(program), *words]
    done = subprocess.run(command, check=True, capture_output=True, timeout=120)
    return [list(mappings(one)) for one in done.stdout.decode().split("#")[:-1]]


def test_stubs_and_a_look_are_not_in_memory_at_once(build: Callable[..., Path]) -> None:
    before, after = (
        sum(part.resident_kib for part in parts if part.is_stubs)
        for parts in told_mappings(build, "look")
    )
    assert after < before / 2


@pytest.mark.parametrize("occasion", ["look", "work"])
def test_only_code_that_ran_stays_in_memory(
    build: Callable[..., Path], occasion: str
) -> None:
    last = told_mappings(build, occasion)[-1]
    text = [part for part in last if part.is_armed_text]
    assert text
    shared_kib = sum(part.resident_kib - part.copied_kib for part in text)
    assert shared_kib < sum(part.size_kib for part in text) / 8


def test_code_that_the_program_writes_itself_stays(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build(
        "accesses_own_text.c", "-O1", "-fno-toplevel-reorder", f"-I{INCLUDE}"
    )
    plain = subprocess.run([program], check=True, capture_output=True, text=True)
    outcome = watch([program], "--lens", "accesses")
    assert (outcome.stdout, outcome.returncode) == (plain.stdout, 0)


def own_mappings() -> list[Mapping]:
    """Return the mappings of a program that only tells them."""
    command = [str(LEAKLINE), "run", "--lens", "accesses", "--"]
    command += ["cat", "/proc/self/smaps"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=120)
    return list(mappings(done.stdout.decode()))


def mappings(smaps: str) -> Iterator[Mapping]:
    """Yield the mappings in the text of the kernel's file."""
    for part in re.split(r"\n(?=[0-9a-f]+-)", smaps):
        found = re.findall(r"^(Size|Rss|Anonymous): +([0-9]+) kB", part, re.MULTILINE)
        sizes = {name: int(size) for name, size in found}
        head = part.partition("\n")[0]
        is_of_plan = head.endswith(SUFFIX)
        yield Mapping(
            is_of_plan and " rwxp " in head,
            is_of_plan and " r-xs " in head,
            is_of_plan and " r--" in head,
            sizes["Size"],
            sizes["Rss"],
            sizes["Anonymous"],
        )


def test_what_cannot_be_armed_in_a_library_loaded_later_is_told(tmp_path: Path) -> None:
    source, program = tmp_path / "later.c", tmp_path / "later"
    source.write_text(
        "#include <dlfcn.h>\n"
        'int main(void) { return dlopen("libz.so.1", RTLD_NOW) == 0; }\n'
    )
    subprocess.run(["gcc", source, "-o", program, "-ldl"], check=True)
    file = tmp_path / "recording"
    command = [str(LEAKLINE), "run", "--lens", "accesses", "-o", str(file)]
    command += ["--error-exitcode", "0", "--"]
    for _ in range(2):  # the first run makes the plan for the second
        file.unlink(missing_ok=True)
        subprocess.run(
            [*command, program], check=True, capture_output=True, timeout=120
        )
    told = [one for one in report_of(file)["run"]["not_seen"] if "libz" in one]
    assert len(told) == 1
    assert re.search(r"[0-9,]+ of [0-9,]+ loads and stores are not seen", told[0])


def test_a_process_stays_alone_for_calls_that_need_it(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("accesses_namespaces.c", "-O1")
    plain = subprocess.run([program], capture_output=True, check=True).stdout
    report = ["--lens", "accesses", "--report-file", str(tmp_path / "report")]
    command = [str(LEAKLINE), "run", *report, "--", str(program)]
    watched = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert watched.stdout == plain


def test_blocks_do_not_inherit_the_use_of_others_at_their_place(
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEAKLINE_OPTIONS", "sampling_ppm=1000000")
    program = build("accesses_reused.c", "-O1")
    report = watch([program, "700"], "--lens", "accesses", "--stale", "never").report
    never_used = {
        frame["function"]: finding["blocks"]
        for finding in report["findings"]
        if finding["kind"] == "never-used"
        for frame in finding["allocation"]["frames"]
        if frame["function"].endswith(("_ok", "_stale"))
    }
    assert never_used == {
        "allocated_where_others_were_used_stale": 40,
        "zeroed_where_others_were_used_stale": 40,
        "moved_where_others_were_used_stale": 40,
        "large_where_another_was_used_stale": 1,
    }


def test_code_is_changed_by_poking_where_it_must_be(
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = build("accesses_idle.c", "-O1")
    stale = ["--lens", "accesses", "--stale", "idle>400ms"]
    unseen = []
    for poked in ("0", "1"):
        monkeypatch.setenv("LEAKLINE_OPTIONS", f"text_poke={poked}")
        report = watch([program, RUN_MS], *stale).report
        assert "list_of_the_beginning_stale" in cases(report)
        unseen += [
            int(text.split(": ")[1].split(" of ")[0].replace(",", ""))
            for text in report["run"]["not_seen"]
            if "loads and stores that may touch" in text
        ]
    # Neither puns nor libc can be poked, and the report says so.
    assert unseen[1] > 10 * unseen[0]


def environment_for(recording: Path, options: str) -> dict[str, str]:
    return {
        **os.environ,
        "LD_PRELOAD": runtime_library(os.environ),
        "LEAKLINE_OPTIONS": f"recording={recording}:plans={plan_folder()}:{options}",
    }


@pytest.mark.parametrize(
    ("lenses", "more"),
    [
        ("reach,accesses", ""),
        ("reach,loss,accesses", ""),
        ("reach,accesses", ":text_poke=1"),
    ],
)
def test_nobody_notices_code_that_is_armed_all_the_time(
    lenses: str,
    more: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    program = build("patch_robustness.cpp", "-O2")
    plain = {
        subprocess.run([program], capture_output=True, check=True).stdout
        for _ in range(PLAIN_RUNS)
    }
    for _ in range(2):
        outcome = watch([program], "--lens", lenses, "--error-exitcode", "0")
    assert not any("no arm plan" in text for text in outcome.report["run"]["not_seen"])
    for _ in range(STRESSED_RUNS):
        recording = tmp_path / "recording"
        recording.unlink(missing_ok=True)
        create_recording(recording)
        done = subprocess.run(
            [program],
            env=environment_for(recording, f"lens={lenses}:arm_stress=1{more}"),
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert {done.stdout} == plain
