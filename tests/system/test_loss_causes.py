"""Every way in which memory with the last reference goes, and the name of the slot."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, Outcome, watch_in

MARK = re.compile(r"// loss\((\w+)\): ([\w-]+)")
PROGRAM = "loss_causes.cpp"
SLOTS = {
    "in_global_struct_bad": "config.log.path",
    "FN_in_global_array_bad": "config.hosts[2]",
    "in_deleted_object_bad": "owner->name",
    "FN_failed_realloc_bad": "grown",
    "tree_bad": "drop_tree()::root",
    "FN_at_thread_exit_bad": "of_thread",
    "FN_of_cpp_thread_bad": "of_thread",
    "FN_at_pthread_exit_bad": "mine",
    "in_worker_bad": "of_thread",
    "FN_in_array_bad": "items[...]",
}


def losses(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """Return the lost findings by the plain name of the function that allocates."""
    found = {}
    for finding in outcome.report["findings"]:
        for frame in finding["allocation"]["frames"]:
            for name in re.findall(r"\w+_bad", frame["function"]):
                if finding["kind"] == "lost":
                    found[name] = finding
    return found


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def found(
    request: pytest.FixtureRequest,
    build: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("causes")
    program = build(PROGRAM, request.param)
    return losses(watch_in(folder, [program], "--lens", "loss"))


def test_cause_and_line_are_right(found: dict[str, dict[str, Any]]) -> None:
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        mark = MARK.search(line)
        if mark is None:
            continue
        loss = found[mark[1]]["loss"]
        assert loss["cause"] == mark[2], mark[1]
        # A statement of several lines counts by its first, a comment below by the last.
        own = {frame["line"] for frame in loss["frames"] if PROGRAM in frame["file"]}
        # Two frames are known of a store: here both may lie in the library's header.
        is_known = loss["precision"] not in ("function", "probable")
        if is_known and (own or mark[1] != "FN_in_unique_bad"):
            assert own & {number - 1, number}, mark[1]


def test_an_ended_thread_is_named_by_its_function(
    found: dict[str, dict[str, Any]],
) -> None:
    for name, function in (
        ("FN_at_thread_exit_bad", "keep_in_thread"),
        ("FN_of_key_bad", "keep_by_key"),
    ):
        loss = found[name]["loss"]
        assert function in loss["frames"][0]["function"]
        assert (loss["frames"][0]["line"], loss["precision"]) == (0, "function")


def test_a_thread_of_the_library_is_named_by_the_program_s_function(
    found: dict[str, dict[str, Any]],
) -> None:
    loss = found["FN_of_cpp_thread_bad"]["loss"]
    assert "keep_in_cpp_thread" in loss["frames"][0]["function"]
    assert (loss["frames"][0]["line"], loss["precision"]) == (0, "probable")


def test_a_string_that_grows_loses_nothing(found: dict[str, dict[str, Any]]) -> None:
    loss = found["FN_around_string_bad"]["loss"]
    assert (loss["cause"], loss["precision"]) == ("out-of-scope", "probable")


def test_a_second_run_sees_what_becomes_of_a_string_that_grows(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    refined = losses(watch_in(tmp_path, [build(PROGRAM, "-O0")], "--refine"))
    finding = refined["FN_around_string_bad"]
    loss = finding["loss"]
    assert (loss["cause"], loss["slot"]) == ("out-of-scope", "label")
    assert loss["precision"] == "exact"
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    here = lines[loss["frames"][0]["line"] - 1]
    assert "// loss(FN_around_string_bad)" in here
    assert finding["path"]


def test_blocks_lost_from_several_elements_are_one_finding(
    found: dict[str, dict[str, Any]],
) -> None:
    items = found["FN_in_array_bad"]
    assert (items["blocks"], items["notes"]) == (8, [])


def test_slots_are_named(found: dict[str, dict[str, Any]]) -> None:
    for name, slot in SLOTS.items():
        assert found[name]["loss"]["slot"].endswith(slot), name


def test_births_name_slots_that_the_loss_does_not(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    found = losses(watch_in(tmp_path, [build(PROGRAM, "-O2")], "--births"))
    assert found["FN_at_munmap_bad"]["loss"]["slot"] == "region[600]"
    assert found["behind_shrunk_bad"]["loss"]["slot"] == "table[90]"


def test_a_lost_tree_is_one_finding(found: dict[str, dict[str, Any]]) -> None:
    tree = found["tree_bad"]
    assert (tree["blocks"], tree["indirect_blocks"]) == (1, 3)


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_what_an_unloaded_library_held_is_lost_where_it_is_unloaded(
    optimisation: str, build: Callable[..., Path], tmp_path: Path
) -> None:
    plugin = build("plugin_holding.c", optimisation, "-shared", "-fPIC")
    program = build("loss_unloading.c", optimisation)
    found = losses(watch_in(tmp_path, [program, plugin], "--lens", "loss"))
    assert set(found) == {"FN_only_in_plugin_bad"}
    loss = found["FN_only_in_plugin_bad"]["loss"]
    assert loss["cause"] == "unmapped"
    assert [frame["function"] for frame in loss["frames"][:2]] == ["unload", "main"]


LIBRARY = """
#include <stdlib.h>

#define CASE __attribute__((noipa, optimize("no-optimize-sibling-calls")))

static __thread char* volatile hidden;
static __thread struct { char* volatile first; char* volatile second; } pair;
__thread char* volatile shown;

CASE char* of_hidden_bad(void) { return malloc(111); }
CASE char* of_pair_bad(void) { return malloc(222); }
CASE char* of_shown_bad(void) { return malloc(333); }

CASE void fill(void) {
    hidden = of_hidden_bad();
    pair.second = of_pair_bad();
    shown = of_shown_bad();
}

CASE void empty(void) {
    hidden = NULL;
    pair.second = NULL;
    shown = NULL;
}
"""
USER = (
    "void fill(void); void empty(void); int main(void) { fill(); empty(); return 0; }"
)


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_thread_local_variables_of_a_library_are_named(
    optimisation: str, tmp_path: Path
) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "user.c").write_text(USER)
    compiler = ["gcc", "-g", optimisation]
    library = ["-shared", "-fPIC", "library.c", "-o", "liblibrary.so"]
    program = ["user.c", "-L.", "-llibrary", "-Wl,-rpath,$ORIGIN", "-o", "user"]
    for arguments in (library, program):
        subprocess.run([*compiler, *arguments], cwd=tmp_path, check=True)
    found = losses(watch_in(tmp_path, [tmp_path / "user"], "--lens", "loss"))
    slots = {name: finding["loss"]["slot"] for name, finding in found.items()}
    assert slots == {
        "of_hidden_bad": "hidden",
        "of_pair_bad": "pair.second",
        "of_shown_bad": "shown",
    }
