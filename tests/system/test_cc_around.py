"""Notes leave the code around them alone, whatever that code is compiled for."""

import subprocess
from pathlib import Path

import pytest

from .compiled import compile_text, watch_json
from .conftest import PROGRAMS

AROUND = (PROGRAMS / "cc_around.c").read_text()

LOSING = """
#include <stdlib.h>
char* slot;
int main(void) {
    slot = malloc(100);
    slot = malloc(200);
    char* other = malloc(300);
    if (slot == other) {
        return 1;
    }
    return 0;
}
"""


@pytest.mark.parametrize("flag", ["-O0", "-O1", "-O2", "-O3"])
def test_registers_and_frames_stay_as_they_are(flag: str, tmp_path: Path) -> None:
    program = compile_text(AROUND, tmp_path, flag)
    assert subprocess.run([program], check=False, timeout=60).returncode == 0
    report = watch_json(program, tmp_path)
    assert report["run"]["exit_code"] == 0
    assert sum(finding["blocks"] for finding in report["findings"]) == 8


@pytest.mark.parametrize(
    "flags",
    [
        ("-masm=intel",),
        ("-fno-integrated-as",),
        ("-ffunction-sections", "-Wl,--gc-sections"),
        ("-fcf-protection=full",),
        ("-fno-pic", "-no-pie"),
        ("-mcmodel=medium",),
        ("-mcmodel=large",),
        ("-mcmodel=large", "-O0"),
    ],
    ids=" ".join,
)
def test_losses_are_told_for_any_code(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = compile_text(LOSING, tmp_path, "-O2", *flags)
    found = watch_json(program, tmp_path)["findings"]
    lost = {
        f["bytes"]: (f["loss"]["frames"][0]["line"], f["loss"]["slot"]) for f in found
    }
    assert lost == {100: (6, "slot"), 300: (11, "other")}
