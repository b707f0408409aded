"""`leakline cc` with each version of clang that its plugin is written for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import leakline
from leakline.compile.compiler import LLVM_MAJORS, OVERRIDE

from .conftest import PROGRAMS, Outcome
from .test_cc import Expected, compared_losses, compile_c

ROOT = Path(__file__).resolve().parent.parent.parent
__all__ = ["compile_c"]
# All other tests run with the version that comes first.
OTHERS = LLVM_MAJORS[1:]
CORPUS = (
    "cc_copies.c",
    "cc_deleted.cpp",
    "cc_exits.cpp",
    "cc_freed.c",
    "cc_jumps.c",
    "cc_language.c",
    "cc_leaving.c",
    "cc_library.c",
    "cc_objects.cpp",
    "cc_passed.cpp",
    "cc_skips.c",
    "cc_unions.c",
    "cc_variables.c",
    "cc_ways.c",
)


def install(major: int, folder: Path) -> Path:
    """Install beside the other plugins the one for a version, built here."""
    package = folder / "leakline"
    shutil.copytree(Path(leakline.__file__).parent, package)
    build = folder / "build"
    generate = f"cmake -S {ROOT}/native/pass -B {build} -G Ninja".split()
    target = ["--target", f"leakline_stamps_{major}"]
    for words in (generate, ["cmake", "--build", str(build), *target]):
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (package / f"_native/llvm-{major}").mkdir(exist_ok=True)
    for plugin in build.glob(f"llvm-{major}/*.so"):
        shutil.copy(plugin, package / f"_native/llvm-{major}")
    return folder


def without_slots_of_freed(
    losses: dict[str, set[Expected]],
) -> dict[str, set[Expected]]:
    """Where variables of optimised code are, older versions tell less often."""
    return {
        function: {
            loss._replace(slot="*") if loss.cause == "container-freed" else loss
            for loss in found
        }
        for function, found in losses.items()
    }


@pytest.mark.parametrize("major", OTHERS)
def test_other_versions_of_clang_name_the_same_losses(
    major: int,
    compile_c: Callable[..., Path],
    watch: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install(major, tmp_path)))
    monkeypatch.setenv(OVERRIDE, f"/usr/lib/llvm-{major}/bin/clang")
    for name in CORPUS:
        for level in ("-O0", "-O2"):
            program = compile_c(name, level, f"-DLEVEL={major}")
            assert b"clang version %d." % major in program.read_bytes()
            outcome = watch([program], "--lens", "loss")
            expected, reported = compared_losses(PROGRAMS / name, outcome)
            assert without_slots_of_freed(reported) == without_slots_of_freed(
                expected
            ), f"{name} {level}"
