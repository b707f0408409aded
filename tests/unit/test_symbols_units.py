"""Units of debug information by address, with and without the table of their ranges."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.symbols.debug_files import DebugFiles
from leakline.symbols.dwarf_entries import name_of
from leakline.symbols.dwarf_unit import open_units
from leakline.symbols.elf import read_elf

TABLE = ".debug_aranges"
PROGRAM = """
__attribute__((noinline, section(".text.apart"))) int apart(int n) { return n + 2; }
__attribute__((noinline)) int beside(int n) { return apart(n) * 3; }
int main(int argc, char **argv) { (void)argv; return beside(argc); }
"""


def functions(path: Path) -> dict[str, int]:
    """Addresses of the program's own functions."""
    shown = subprocess.run(
        ["nm", "--defined-only", path], check=True, capture_output=True, text=True
    )
    lines = [line.split() for line in shown.stdout.splitlines()]
    return {
        name: int(address, 16)
        for address, _, name in lines
        if name in {"apart", "beside", "main"}
    }


@pytest.mark.parametrize(
    "change",
    [
        [],
        [f"--remove-section={TABLE}"],
        [f"--update-section={TABLE}=garbage"],
        [f"--update-section={TABLE}=nothing"],
    ],
    ids=["whole", "without", "garbage", "empty"],
)
def test_functions_are_found_by_address(
    change: list[str], compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = tmp_path / "program"
    (tmp_path / "garbage").write_bytes(bytes(range(7, 200)))
    (tmp_path / "nothing").write_bytes(b"")
    original = compiled(PROGRAM, "-g", "-O1")
    subprocess.run(["objcopy", *change, original, program], check=True, cwd=tmp_path)
    units = open_units(DebugFiles(read_elf(program)))
    assert units is not None
    addresses = functions(program)
    assert len(addresses) == 3
    for name, address in addresses.items():
        function = units.function_at(address + 1)
        assert function is not None
        assert name_of(function) == name
    assert units.function_at(1) is None
