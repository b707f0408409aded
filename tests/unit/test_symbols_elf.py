from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakline.symbols.debug_info import DebugInfoError, open_debug_info
from leakline.symbols.elf import ElfError, read_elf
from leakline.symbols.symbol_table import read_symbol_table

PROGRAM = "int main(void) { return 0; }\n"


def test_facts_of_a_program_are_read(compiled: Callable[..., Path]) -> None:
    elf = read_elf(compiled(PROGRAM, "-g"))
    assert len(elf.build_id) == 20
    assert elf.has_interpreter
    assert elf.load_address == 0
    assert elf.has_contents(".debug_info")
    assert read_elf(compiled(PROGRAM, "-no-pie")).load_address == 0x400000
    assert not read_elf(compiled(PROGRAM, "-static")).has_interpreter


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n", "not an ELF file"),
        (b"\x7fELF\x01\x01\x01" + bytes(60), "not a 64-bit file"),
        (b"\x7fELF\x02\x01\x01", "cut short"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=reason):
        read_elf(path)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ElfError, match="no file can have its name"):
        read_elf(Path("\0"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, 20_000),
    flips=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), max_size=6),
)
def test_a_damaged_file_is_read_or_refused(
    compiled: Callable[..., Path],
    tmp_path: Path,
    cut: int,
    flips: list[tuple[int, int]],
) -> None:
    data = bytearray(compiled(PROGRAM, "-g").read_bytes())
    for place, value in flips:
        data[place % len(data)] = value
    path = tmp_path / "damaged"
    path.write_bytes(data[: len(data) - cut])
    try:
        elf = read_elf(path)
        read_symbol_table(elf).find(0x1139)
        open_debug_info(elf).find(0x1139)
    except (ElfError, DebugInfoError):
        pass
