"""What `leakline cc` compiles names line, cause and variable of every loss."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leakline.compile.compiler import find_compiler

from .command import leakline
from .compiled import compile_text, watch_json
from .conftest import LEAKLINE, PROGRAMS, Outcome

MARK = re.compile(r"// loss\((\w+)\): ([\w-]+) (\S+)")


class Expected(NamedTuple):
    """A mark in a source; `slot` is None where the variable has no name.

    Of a slot `*` it depends on what the compiler keeps whether its name is known.
    """

    line: int
    cause: str
    slot: str | None


def expected_losses(source: Path) -> dict[str, set[Expected]]:
    """Return the marked losses by the allocating function."""
    losses: dict[str, set[Expected]] = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        marked = number + line.lstrip().startswith("//")
        for name, cause, slot in MARK.findall(line):
            expected = Expected(marked, cause, None if slot == "-" else slot)
            losses.setdefault(name, set()).add(expected)
    return losses


def reported_losses(outcome: Outcome) -> dict[str, set[Expected]]:
    losses: dict[str, set[Expected]] = {}
    for finding in outcome.report["findings"]:
        if finding["kind"] != "lost":
            continue
        name = _verdict(finding)
        loss = finding["loss"]
        line = loss["frames"][0]["line"] if loss and loss["frames"] else 0
        losses.setdefault(name, set()).add(Expected(line, *_what(loss)))
    return losses


def compared_losses(
    source: Path, outcome: Outcome
) -> tuple[dict[str, set[Expected]], dict[str, set[Expected]]]:
    """Return the marked losses and the reported ones."""
    expected = expected_losses(source)
    reported = reported_losses(outcome)
    for function, losses in expected.items():
        if any(loss.slot == "*" for loss in losses):
            found = reported.get(function, set())
            reported[function] = {loss._replace(slot="*") for loss in found}
    return expected, reported


def _what(loss: dict[str, Any] | None) -> tuple[str, str | None]:
    return (loss["cause"], loss["slot"]) if loss else ("unknown", None)


def _verdict(finding: dict[str, Any]) -> str:
    frames = finding["allocation"]["frames"]
    names = [frame["function"].removesuffix("()") for frame in frames]
    return next(
        (name for name in names if name.endswith(("_bad", "_ok"))), str(names[0])
    )


def losses_without_callers(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the exact losses whose stacks do not go back to where a thread began."""
    losses = [finding["loss"] for finding in outcome.report["findings"]]
    return [
        loss
        for loss in losses
        if loss is not None and loss["precision"] == "exact"
        if loss["frames"][-1]["function"] not in {"_start", "__clone3", "clone3"}
    ]


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles one program with `leakline cc`."""
    folder = tmp_path_factory.mktemp("compiled")

    def compile_program(name: str, *flags: str) -> Path:
        target = folder / f"{Path(name).stem}{''.join(flags)}"
        compiler = "c++" if name.endswith(".cpp") else "cc"
        words = [*flags, "-w", "-D_GNU_SOURCE", str(PROGRAMS / name), "-o", str(target)]
        done = subprocess.run(
            [LEAKLINE, compiler, *words, "-pthread"], check=False, capture_output=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return target

    return compile_program


# Where optimisation changes most, all its levels.
LEVELS = {
    "cc_variables.c": ("-O0", "-O1", "-O2", "-O3"),
    "cc_objects.cpp": ("-O0", "-O1", "-O2", "-O3"),
    "cc_exits.cpp": ("-O0", "-O1", "-O2", "-O3"),
    "cc_passed.cpp": ("-O0", "-O1", "-O2", "-O3"),
    "cc_deleted.cpp": ("-O0", "-O1", "-O2", "-O3"),
    "cc_freed.c": ("-O0", "-O1", "-O2", "-O3"),
    "cc_unions.c": ("-O0", "-O1", "-O2", "-O3"),
    "cc_skips.c": ("-O0", "-O2", "-O3"),
    "cc_ways.c": ("-O0", "-O1", "-O2", "-O3"),
    "cc_language.c": ("-O0", "-O2"),
    "cc_library.c": ("-O0", "-O2"),
    "cc_jumps.c": ("-O0", "-O2"),
    "cc_leaving.c": ("-O0", "-O1", "-O2"),
    "cc_copies.c": ("-O0", "-O1", "-O2"),
}


@pytest.mark.parametrize(
    ("name", "optimisation"),
    [(name, level) for name, levels in LEVELS.items() for level in levels],
)
def test_every_loss_is_named(
    name: str,
    optimisation: str,
    compile_c: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([compile_c(name, optimisation)], "--lens", "loss")
    expected, reported = compared_losses(PROGRAMS / name, outcome)
    assert reported == expected
    assert losses_without_callers(outcome) == []


@pytest.mark.parametrize(
    "flags",
    [
        ("-O2", "-D_FORTIFY_SOURCE=2"),  # calls __longjmp_chk
        ("-O1", "-Dlongjmp=_longjmp"),
        ("-O1", "-Dlongjmp=siglongjmp"),
    ],
)
def test_all_kinds_of_jumps_are_seen(
    flags: tuple[str, ...],
    compile_c: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([compile_c("cc_leaving.c", *flags)], "--lens", "loss")
    assert reported_losses(outcome) == expected_losses(PROGRAMS / "cc_leaving.c")


MODES = """
#include <stdlib.h>
static char* volatile large_bad(void) { return malloc(100); }
static char* volatile small_bad(void) { return malloc(50); }
int main(void) {
    char** large = calloc(1000, sizeof *large);
    char** small = calloc(2, sizeof *small);
    large[1] = large_bad();
    small[1] = small_bad();
    free(large);
    free(small);
    char* volatile last = malloc(30);
    last = NULL;
    return 0;
}
"""


@pytest.mark.parametrize(
    ("mode", "causes"),
    [
        ("full", {100: "container-freed", 50: "container-freed", 30: "overwritten"}),
        ("partial=64", {50: "container-freed", 30: "overwritten"}),
        ("minimal", {}),
    ],
)
def test_modes_do_as_much_as_they_say(
    mode: str,
    causes: dict[int, str],
    tmp_path: Path,
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([compile_text(MODES, tmp_path, "-O1")], "--mode", mode)
    exact = {
        finding["bytes"]: finding["loss"]["cause"]
        for finding in outcome.report["findings"]
        if finding["loss"] is not None and finding["loss"]["precision"] == "exact"
    }
    assert exact == causes
    assert {finding["bytes"] for finding in outcome.report["findings"]} == {100, 50, 30}


def test_instrumented_programs_run_without_leakline(
    compile_c: Callable[..., Path],
) -> None:
    program = compile_c("cc_variables.c", "-O2")
    done = subprocess.run([program], check=False, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_threads_lose_side_by_side(
    compile_c: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    name = "cc_threads.c"
    outcome = watch([compile_c(name, "-O2")])
    assert reported_losses(outcome) == expected_losses(PROGRAMS / name)
    assert losses_without_callers(outcome) == []
    blocks = [finding["blocks"] for finding in outcome.report["findings"]]
    assert sorted(blocks) == [4 * 20 - 1, 4 * 20]


LAST_CALLS = """
#include <stdlib.h>
__attribute__((noinline)) static char* give(void) { return malloc(10); }
__attribute__((noinline)) static void take(char** box) { free(box); }
int main(void) {
    char** box = malloc(80);
    box[0] = give();
    take(box);
    return 0;
}
"""


@pytest.mark.parametrize("optimisation", ["-O0", "-O2", "-O3"])
def test_who_asks_the_heap_last_is_on_the_stack(
    optimisation: str, tmp_path: Path
) -> None:
    report = watch_json(compile_text(LAST_CALLS, tmp_path, optimisation), tmp_path)
    (finding,) = report["findings"]
    for stack, line, name in (
        (finding["allocation"], 3, "give"),
        (finding["loss"], 4, "take"),
    ):
        first, second, *_ = stack["frames"]
        assert (first["function"], first["line"]) == (name, line)
        assert second["function"] == "main"


def test_a_loss_has_the_stack_of_its_callers(
    compile_c: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    outcome = watch([compile_c("cc_contexts.c", "-O1")])
    chains = {
        tuple(frame["function"] for frame in finding["loss"]["frames"])[:3]
        for finding in outcome.report["findings"]
    }
    assert chains == {
        ("drop", "through_left", "main"),
        ("drop", "through_right", "main"),
        ("FN_recur_bad", "FN_recur_bad", "FN_recur_bad"),
        ("called_by_address", "main", "__libc_start_call_main"),
    }


def test_flags_can_be_printed() -> None:
    done = leakline("cc", "--print-flags")
    assert done.returncode == 0
    assert "-fpass-plugin=" in done.stdout


def test_births_are_a_word_of_our_own() -> None:
    plain = leakline("cc", "--print-flags").stdout.split()
    with_births = leakline("cc", "--births", "--print-flags").stdout.split()
    added = [word for word in with_births if word not in plain]
    assert added == ["-leakline-births"]


MANY_BIRTHS = """
#include <stdlib.h>
static void lose(int choice) {{
    void* p = 0;
    switch (choice) {{
{cases}
    }}
    *(char*)p = 1;
}}
int main(void) {{ lose(37); return 0; }}
"""


def test_the_birth_is_told_among_many(tmp_path: Path) -> None:
    cases = "\n".join(f"case {n}: p = malloc({n}); break;" for n in range(1, 61))
    program = compile_text(MANY_BIRTHS.format(cases=cases), tmp_path, "-O0")
    (finding,) = watch_json(program, tmp_path)["findings"]
    assert finding["birth"]["frames"][0]["line"] == 5 + 37


def test_ways_to_headers_are_told_without_detours(tmp_path: Path) -> None:
    header = tmp_path / "include/losing.h"
    header.parent.mkdir()
    header.write_text("static void lose(void) { char* p = malloc(50); }\n")
    (tmp_path / "lib").mkdir()
    text = f"""
#include <stdlib.h>
#include "{tmp_path}/lib/../include/losing.h"
int main(void) {{
    lose();
    return 0;
}}
"""
    report = watch_json(compile_text(text, tmp_path, "-O0"), tmp_path)
    (finding,) = report["findings"]
    assert finding["loss"]["frames"][0]["file"] == str(header)


def test_sources_that_were_compiled_otherwise_are_named(tmp_path: Path) -> None:
    main = tmp_path / "main.c"
    main.write_text("int other(void); int main(void) { return other(); }")
    other = tmp_path / "other.c"
    other.write_text("int other(void) { return 0; }")
    clang = find_compiler("clang").path
    subprocess.run([clang, "-g", "-c", other, "-o", tmp_path / "o.o"], check=True)
    program = tmp_path / "program"
    subprocess.run([LEAKLINE, "cc", main, tmp_path / "o.o", "-o", program], check=True)
    seen = watch_json(program, tmp_path)["run"]["not_seen"]
    (named,) = [text for text in seen if "compiled without leakline cc" in text]
    assert "other.c" in named
    assert "main.c" not in named


SELDOM = """
#include <stdlib.h>
__attribute__((noinline)) void often(char** slot) { *slot = NULL; }
__attribute__((noinline)) void seldom(char** slot, long why) {
    if (__builtin_expect(why, 0)) {
        *slot = NULL;
    }
}
int main(int count, char** words) {
    char* slot = malloc(100);
    often(&slot);
    slot = malloc(101);
    seldom(&slot, count);
    return 0;
}
"""


def test_seldom_code_is_small_and_notes_all_the_same(tmp_path: Path) -> None:
    program = compile_text(SELDOM, tmp_path, "-O2")
    code = subprocess.run(
        ["objdump", "-d", program], check=True, capture_output=True, text=True
    ).stdout
    bodies = {body.partition(">")[0]: body for body in re.split(r"\n\w+ <", code)}
    assert "<leakline.lose>" in bodies["seldom"]
    assert "<leakline.lose>" not in bodies["often"]
    found = watch_json(program, tmp_path)["findings"]
    lost = {f["bytes"]: f["loss"]["frames"][0]["line"] for f in found}
    assert lost == {100: 3, 101: 6}


LEFT_IN_SEVERAL_WAYS = """
struct page { const char* cells[9]; };
extern int report(struct page* page);
__attribute__((noinline)) static void read_key(const char* cell, int* key) {
    *key = *cell;
}
int sum(struct page* page) {
    const char* cell;
    int found = 0;
    for (int i = 0; i < 9; i++) {
        int key;
        cell = page->cells[i];
        read_key(cell, &key);
        if (key < 0) {
            return report(page);
        }
        found += key;
    }
    return found;
}
"""


def test_a_call_on_one_way_out_of_a_scope_does_not_burden_the_others(
    tmp_path: Path,
) -> None:
    source = tmp_path / "sum.c"
    source.write_text(LEFT_IN_SEVERAL_WAYS)
    code = subprocess.run(
        [LEAKLINE, "cc", "-O2", "-S", source, "-o", "-"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    body = code.partition("\nsum:")[2].partition(".size\tsum")[0]
    # What `cell` holds is noted only where the call may have changed the page.
    assert len(re.findall(r"\bleakline\.(?:count|lose)\b", body)) == 1


COPIED_OVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MOST_WORDS = 11 };
__attribute__((noinline)) static void move(void** to, void** from, size_t words) {
    memmove(to, from, words * sizeof *to);
}
static void** made(size_t words, size_t at) {
    void** slots = calloc(words, sizeof *slots);
    slots[at] = malloc(24);
    return slots;
}
int main(void) {
    void* empty[MOST_WORDS] = {NULL};
    for (size_t words = 1; words <= MOST_WORDS; words++) {
        for (size_t at = 0; at < words; at++) {
            void** apart = made(words, at);
            move(apart, empty, words);
            free(apart);
            void** overlapping = made(words + 1, 0);
            void* kept = at == 0 ? NULL : malloc(100);
            overlapping[at] = at == 0 ? overlapping[0] : kept;
            move(overlapping, overlapping + 1, words);
            if (at > 0 && overlapping[at - 1] != kept) {
                puts("not moved");
            }
            free(kept);
            free(overlapping);
        }
    }
    return 0;
}
"""


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_each_word_that_is_copied_over_is_looked_at(
    optimisation: str, tmp_path: Path, watch: Callable[..., Outcome]
) -> None:
    outcome = watch([compile_text(COPIED_OVER, tmp_path, optimisation)])
    assert outcome.stdout == ""
    findings = outcome.report["findings"]
    assert {f["loss"]["frames"][0]["line"] for f in findings} == {7}
    assert sum(f["blocks"] for f in findings) == 2 * 66


INLINED = """
struct record { char* fields[8]; };
static void clear(struct record* record) {
    record->fields[0] = record->fields[1] = 0;
    record->fields[2] = record->fields[3] = 0;
    record->fields[4] = record->fields[5] = 0;
    record->fields[6] = record->fields[7] = 0;
}
void clear_both(struct record* one, struct record* other) {
    clear(one);
    clear(other);
}
"""


def test_notes_do_not_keep_a_function_from_being_inlined(tmp_path: Path) -> None:
    source = tmp_path / "clear.c"
    source.write_text(INLINED)
    code = subprocess.run(
        [LEAKLINE, "cc", "-O2", "-S", source, "-o", "-"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(r"^clear_both:", code, re.MULTILINE)
    assert not re.search(r"^clear:", code, re.MULTILINE)
