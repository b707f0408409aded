"""What can be watched, and the sentence for what cannot."""

import io
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.cli.inspection.binary import inspect_program
from leakline.cli.inspection.elf_header import ElfHeader, NotElfError
from leakline.cli.inspection.lenses import refuse_missing_lenses
from leakline.cli.inspection.observation import State
from leakline.cli.inspection.program import (
    find_program,
    interpreter_of_script,
    refuse_unwatchable,
)
from leakline.errors import ProgramError, UsageError

TRUE = shutil.which("true") or "/bin/true"


def executable(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def compile_c(path: Path, source: str, *flags: str) -> Path:
    command = ["gcc", "-xc", "-", "-o", str(path), *flags]
    subprocess.run(command, input=source.encode(), check=True)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ProgramError) as raised:
        refuse_unwatchable(str(path))
    return str(raised.value)


def test_an_ordinary_program_is_watched() -> None:
    refuse_unwatchable(TRUE)


def test_the_libraries_of_a_program_are_known() -> None:
    with Path(TRUE).open("rb") as file:
        header = ElfHeader(file)
    assert header.needed == ("libc.so.6",)
    assert header.interpreter == "/lib64/ld-linux-x86-64.so.2"


def test_a_text_file_is_no_program(tmp_path: Path) -> None:
    path = executable(tmp_path / "notes", b"just words\n")
    assert refusal(path) == f"{path} is not an ELF program (no sound ELF header)"


def test_a_32_bit_program_is_refused(tmp_path: Path) -> None:
    content = bytearray(Path(TRUE).read_bytes())
    content[4] = 1
    path = executable(tmp_path / "old", bytes(content))
    assert "is a 32-bit program" in refusal(path)


def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    content = bytearray(Path(TRUE).read_bytes())
    struct.pack_into("<H", content, 18, 183)
    path = executable(tmp_path / "arm", bytes(content))
    assert "is for another processor" in refusal(path)


def test_a_static_program_is_refused(tmp_path: Path) -> None:
    path = compile_c(tmp_path / "static", "int main(void) { return 0; }", "-static")
    assert "is statically linked" in refusal(path)


def test_a_script_stands_for_its_interpreter(tmp_path: Path) -> None:
    static = compile_c(tmp_path / "static", "int main(void) { return 0; }", "-static")
    script = executable(tmp_path / "script", f"#! {static} -x\n".encode())
    assert refusal(script).startswith(f"{script} is a script for {static}, which is")
    refuse_unwatchable(str(executable(tmp_path / "fine", b"#!/bin/sh\n")))


@pytest.mark.parametrize("line", ["#!/nowhere/sh", "#!", "#! "])
def test_a_script_without_interpreter_is_refused(line: str, tmp_path: Path) -> None:
    script = executable(tmp_path / "script", f"{line}\ntrue\n".encode())
    assert "which is not there" in refusal(script)


def test_scripts_that_interpret_each_other_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    executable(one, f"#!{two}\n".encode())
    executable(two, f"#!{one}\n".encode())
    assert "too many interpreters" in refusal(one)


def test_a_program_of_another_c_library_is_refused(tmp_path: Path) -> None:
    content = Path(TRUE).read_bytes()
    musl = b"/lib/ld-musl-x86_64.so.1\0".ljust(28, b"\0")
    content = content.replace(b"/lib64/ld-linux-x86-64.so.2\0", musl)
    assert "is started by /lib/ld-musl" in refusal(executable(tmp_path / "m", content))


def test_a_program_with_a_sanitizer_is_refused(tmp_path: Path) -> None:
    source = "int main(void) { return 0; }"
    path = compile_c(tmp_path / "asan", source, "-fsanitize=address")
    assert "is built with a sanitizer (libasan.so" in refusal(path)


def test_a_setuid_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = executable(tmp_path / "su", Path(TRUE).read_bytes())
    path.chmod(0o4755)
    refuse_unwatchable(str(path))  # our own: no privileges change
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert "runs with other privileges than yours" in refusal(path)


def test_a_setgid_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = executable(tmp_path / "wall", Path(TRUE).read_bytes())
    path.chmod(0o2755)
    monkeypatch.setattr(os, "getegid", lambda: path.stat().st_gid + 1)
    assert path.stat().st_mode & stat.S_ISGID
    assert "runs with other privileges than yours" in refusal(path)


def test_programs_are_found_as_shells_find_them(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        executable(folder / "tool", b"x")
    (first / "tool").chmod(0o644)
    search_path = f"/nowhere:{first}:{second}"
    assert find_program("tool", search_path) == str(second / "tool")
    assert find_program(str(second / "tool"), None) == str(second / "tool")
    assert find_program("true", None)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "the name of the program is empty"),
        ("nothing", "nothing: there is no such program"),
        ("./nothing", "./nothing: there is no such program"),
        ("plain", "plain may not be executed: permission denied"),
        ("folder", "folder is a folder, not a program"),
        ("dangling", "dangling: No such file or directory"),
    ],
)
def test_what_cannot_be_found_is_told(
    name: str, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    with pytest.raises(ProgramError) as raised:
        find_program(name, str(tmp_path))
    assert complaint in str(raised.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_elf_header_or_not(content: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00"):
        try:
            ElfHeader(io.BytesIO(start + content))
        except NotElfError:
            continue


@given(st.data())
def test_damaged_programs_never_surprise_the_inspection(data: st.DataObject) -> None:
    content = bytearray(Path(TRUE).read_bytes()[:4096])
    for _ in range(4):
        place = data.draw(st.integers(16, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    try:
        ElfHeader(io.BytesIO(content))
    except NotElfError:
        return


def test_the_first_line_of_a_script_is_read(tmp_path: Path) -> None:
    script = executable(tmp_path / "s", b"#!  /usr/bin/env  python3\nprint()\n")
    assert interpreter_of_script(str(script)) == "/usr/bin/env"
    assert interpreter_of_script(TRUE) is None


@pytest.mark.parametrize(
    ("lenses", "complaint"),
    [
        ("reach,touches", "there is no lens 'touches'"),
        ("check", "there is no lens 'check'"),
        ("", "there is no lens ''"),
    ],
)
def test_lenses_that_are_not_there_are_refused(lenses: str, complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        refuse_missing_lenses(lenses)
    assert complaint in str(raised.value)


def states(path: Path) -> dict[str, State]:
    return {fact.subject: fact.state for fact in inspect_program(str(path))}


def test_the_doctor_knows_good_programs(tmp_path: Path) -> None:
    path = compile_c(tmp_path / "good", "int main(void) { return 0; }", "-g")
    assert set(states(path)) >= {"program", "allocator", "stacks", "names"}
    assert set(states(path).values()) == {State.GOOD}


def test_the_doctor_misses_debug_information(tmp_path: Path) -> None:
    path = compile_c(tmp_path / "bare", "int main(void) { return 0; }", "-s")
    assert states(path)["names"] is State.LIMITED


def test_the_doctor_sees_an_allocator_of_the_programs_own(tmp_path: Path) -> None:
    source = (
        "#include <stddef.h>\n"
        "void *malloc(size_t n) { static char b[9]; return n ? b : b; }\n"
        "int main(void) { return 0; }"
    )
    path = compile_c(tmp_path / "own", source, "-fno-builtin")
    assert states(path)["allocator"] is State.BAD


def test_the_doctor_follows_scripts(tmp_path: Path) -> None:
    path = executable(tmp_path / "script", b"#!/bin/sh\n")
    assert states(path)["script"] is State.GOOD
    assert states(path)["program"] is State.GOOD


def test_the_doctor_says_why_a_program_cannot_be_watched(tmp_path: Path) -> None:
    path = executable(tmp_path / "notes", b"just words\n")
    assert states(path) == {"program": State.BAD}
