from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("options", [(), ("--show", "all")])
@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_blocks_of_ended_scopes_are_lost(
    version: str,
    options: tuple[str, ...],
    build: Callable[..., Path],
    watch: Callable[..., Any],
) -> None:
    program = build("dead_scopes.c", "-O0", "-fno-stack-protector", version)
    outcome = watch([program], *options)
    lost = {name for name in outcome.functions("lost") if name.endswith(("bad", "ok"))}
    assert lost == {
        "FN_scope_ended_bad",
        "FN_members_of_ended_scope_bad",
        "FN_loop_ended_bad",
    }
    notes = [
        note for one in outcome.report["findings"] for note in one.get("notes", [])
    ]
    assert any("`ended` of leave" in note for note in notes)


def test_blocks_of_ended_scopes_are_lost_on_stacks_of_other_threads(
    build: Callable[..., Path], watch: Callable[..., Any]
) -> None:
    program = build("dead_scopes_threads.c", "-O0", "-fno-stack-protector", "-pthread")
    outcome = watch([program])
    assert "scope_of_waiting_thread_ended_bad" in outcome.functions("lost")
    assert "scope_of_waiting_thread_open_ok" not in outcome.functions("lost")


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_nothing_below_the_caller_of_exit_is_a_reference(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Any]
) -> None:
    outcome = watch([build("reach_red_zone.c", optimisation)], "--lens", "reach")
    assert "FN_below_stack_pointer_bad" in outcome.functions("lost")
