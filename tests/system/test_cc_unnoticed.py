"""Programs that note their losses behave as they always do, and are told right."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from leakline.compile.compiler import find_compiler
from leakline.patching.plans import plan_folder
from leakline.recording._format import ProcessEndRecord, Trigger
from leakline.recording.create import create_recording

from .compiled import compile_file, watch_json
from .conftest import PROGRAMS
from .preload import Ended, environment, read, run
from .test_process_handlers import DONE

RUNS = 20
LONG_NODE, LOST_IN_HANDLER = 48, 8


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("compiled") / "process_handlers"
    return compile_file(PROGRAMS / "process_handlers.c", target, "-O2")


def lens_loss(folder: Path) -> dict[str, str]:
    """Return the environment for one more run; its recording has this name."""
    recording = folder / "recording"
    recording.unlink(missing_ok=True)
    create_recording(recording)
    return environment(recording, lens="reach,loss", plans=plan_folder())


@pytest.mark.parametrize("interval_us", [700, 1900, 9100])
@pytest.mark.parametrize("mode", ["exit", "allocate", "fork"])
def test_a_handler_may_do_it(
    mode: str, interval_us: int, handlers: Path, tmp_path: Path
) -> None:
    ended = run([handlers, mode, str(interval_us)], lens_loss(tmp_path))
    assert ended.status == DONE
    ends = read(tmp_path / "recording").of(ProcessEndRecord)
    assert (ends[-1].trigger, ends[-1].status) == (Trigger.QUICK_EXIT, DONE)


def test_threads_exceptions_signals_and_loading_go_on_as_before(tmp_path: Path) -> None:
    source = PROGRAMS / "patch_robustness.cpp"
    program = compile_file(source, tmp_path / "program", "-O2")
    plain = tmp_path / "plain"
    compiler = find_compiler("clang++").path
    subprocess.run([compiler, "-w", "-O2", "-pthread", source, "-o", plain], check=True)
    as_before = run([plain], {})
    assert as_before == Ended(0, as_before.stdout, b"")
    watch_json(program, tmp_path)  # makes the plans of the libraries
    for _ in range(RUNS):
        assert run([program], lens_loss(tmp_path)) == as_before


def functions(stack: dict[str, Any]) -> set[str]:
    return {frame["function"] for frame in stack["frames"]}


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_what_handlers_and_interrupted_code_lose_is_told_apart(
    optimisation: str, tmp_path: Path
) -> None:
    source = PROGRAMS / "cc_handlers.c"
    program = compile_file(source, tmp_path / "program", optimisation)
    lost_in_handler = 0
    for finding in watch_json(program, tmp_path)["findings"]:
        long_blocks, rest = divmod(finding["bytes"], LONG_NODE)
        in_handler = not rest and long_blocks == finding["blocks"]
        name = "lose_in_handler_bad" if in_handler else "lose_interrupted_bad"
        for stack in (finding["allocation"], finding["loss"], finding["birth"]):
            found = functions(stack)
            assert ("on_alarm" in found) == in_handler
            assert ("<signal handler called>" in found) == in_handler
            assert not any(
                "libleakline" in frame["module"] for frame in stack["frames"]
            )
            assert {"lose_in_handler_bad", "lose_interrupted_bad"} & found == {name}
        lost_in_handler += finding["blocks"] if in_handler else 0
    assert lost_in_handler == LOST_IN_HANDLER
