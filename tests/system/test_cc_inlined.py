"""Losses of functions that the compiler put into others show the calls between."""

from pathlib import Path

import pytest

from .compiled import compile_text, watch_json

# The stack of the context is taken where `early` ends.
PROGRAM = """
#include <stdlib.h>
#define INLINE static inline __attribute__((always_inline))
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

INLINE void lose(void) {
    char* kept = malloc(20);
    KEEP(kept);
}

INLINE void pass(void) {
    lose();
}

INLINE void pass_too(void) {
    lose();
}

int main(int argc, char** argv) {
    (void)argv;
    char* early = malloc(10);
    KEEP(early);
    early = NULL;
    KEEP(early);
    pass();
    if (WAYS == 2) {
        pass_too();
    }
    return 0;
}
"""


@pytest.mark.parametrize(
    ("ways", "callers"),
    [
        (1, [("lose", 9), ("pass", 12), ("main", 25)]),
        # It might have come either way.
        (2, [("lose", 9), ("main", 0)]),
    ],
)
def test_calls_are_told_where_there_is_one_way(
    ways: int, callers: list[tuple[str, int]], tmp_path: Path
) -> None:
    program = compile_text(PROGRAM, tmp_path, "-O2", f"-DWAYS={ways}")
    findings = watch_json(program, tmp_path)["findings"]
    frames = [
        finding["loss"]["frames"]
        for finding in findings
        if finding["loss"]["slot"] == "kept"
    ]
    assert frames
    for stack in frames:
        shown = [(frame["function"], frame["line"]) for frame in stack]
        assert shown[: len(callers)] == callers
