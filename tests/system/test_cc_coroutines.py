"""Coroutines that `leakline cc` compiles note what their variables lose."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .compiled import compile_file
from .conftest import Outcome

# A comment names the size of the block that the line loses, and the cause.
SOURCE = """
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <utility>

struct Task {
    struct promise_type {
        Task get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

__attribute__((noinline)) static char* block(int size) {
    char* made = static_cast<char*>(malloc(size));
    made[0] = 'a' + size % 26;
    made[1] = 0;
    return made;
}

static Task work(char* given) {
    {
        char* inner = block(31);
        co_await std::suspend_always{};
        puts(inner);
    } // 31 out-of-scope inner
    char* changed = block(32);
    co_await std::suspend_always{};
    changed = block(400); // 32 overwritten changed
    co_await std::suspend_always{};
    puts(changed);
    free(changed);
    puts(given);
    given = nullptr; // 33 overwritten given
    for (int i = 0; i < 2; i++) {
        char* early = block(34);
        co_await std::suspend_always{};
        if (i == 0) {
            free(early);
            continue;
        }
        break;
    } // 34 out-of-scope early
    char* waiting = block(35);
    co_await std::suspend_always{};
    puts(waiting);
} // 35 out-of-scope waiting

int main() {
    Task task = work(block(33));
    for (int i = 0; i < 6; i++) {
        task.handle.resume();
    }
    task.handle.destroy();
    return 0;
}
"""
MARK = re.compile(r"// (\d+) ([\w-]+) (\w+)$")


def marks() -> dict[int, tuple[int, str, str]]:
    """Line, cause and variable of the losses, by the size of the block."""
    lines = enumerate(SOURCE.splitlines(), 1)
    found = [(number, MARK.search(line)) for number, line in lines]
    return {
        int(mark[1]): (number, mark[2], mark[3])
        for number, mark in found
        if mark is not None
    }


@pytest.mark.parametrize("optimisation", ["-O0", "-O1", "-O2", "-O3"])
def test_losses_in_coroutines_are_named(
    optimisation: str, tmp_path: Path, watch: Callable[..., Outcome]
) -> None:
    source = tmp_path / "tasks.cpp"
    source.write_text(SOURCE)
    program = compile_file(source, tmp_path / "tasks", "-std=c++20", optimisation)
    outcome = watch([program], "--lens", "loss")
    losses = {
        finding["bytes"]: finding["loss"] for finding in outcome.report["findings"]
    }
    found = {
        size: (loss["frames"][0]["line"], loss["cause"], loss["slot"])
        for size, loss in losses.items()
    }
    assert found == marks()
