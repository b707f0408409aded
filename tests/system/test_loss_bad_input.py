"""Lens `loss` on modules and plans that cannot be used: a notice, and all else right."""

import ctypes
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted, plan_folder, prepare
from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.create import create_recording
from leakline.symbols.elf import read_elf

from .conftest import Outcome
from .preload import environment, read, run

Build = Callable[..., Path]
Watch = Callable[..., Outcome]

PAGE = 4096


def notices(recording: Path) -> list[str]:
    """Return what a run said about losses that it does not see."""
    notes = read(recording).of(NotSeenRecord)
    return [n.text.decode() for n in notes if n.reason == NotSeen.LOSSES]


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of plans."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return plan_folder()


def plan_path(plans: Path, program: Path) -> Path:
    return plans / (read_elf(program).build_id.hex() + PlanKind.LOSS.suffix)


def watched(
    program: Path, plans: Path, before: Callable[[], None] | None = None
) -> list[str]:
    """Run a program as it is and patched, and return the notices."""
    recording = plans.parent / "recording"
    recording.unlink(missing_ok=True)
    create_recording(recording)
    env = environment(recording, lens="reach,loss", plans=plans)
    native = subprocess.run([program], capture_output=True, check=True)
    patched = run([program], env, before)
    assert patched.status == 0
    assert (patched.stdout, patched.stderr) == (native.stdout, native.stderr)
    return notices(recording)


def losses(outcome: Outcome) -> set[tuple[str, str]]:
    """Return where blocks were lost, and why."""
    return {
        (finding["loss"]["frames"][0]["function"], finding["loss"]["cause"])
        for finding in outcome.report["findings"]
        if finding["loss"] and finding["loss"]["frames"]
    }


def test_data_and_assembly_in_code_stay_as_they_are(build: Build, watch: Watch) -> None:
    program = build("loss_own_code.c", "-O1")
    outcome = watch([program], "--lens", "loss", "--error-exitcode", "0")
    assert outcome.stdout == "1\n"
    assert losses(outcome) == {("overwritten_bad", "overwritten")}


def test_a_program_without_build_id_is_left_alone(build: Build, watch: Watch) -> None:
    program = build("loss_own_code.c", "-O1", "-Wl,--build-id=none")
    outcome = watch([program], "--lens", "loss", "--error-exitcode", "0")
    assert outcome.stdout == "1\n"
    assert losses(outcome) == set()
    said = " ".join(outcome.report["run"]["not_seen"])
    assert f"{program}: it has no build-id" in said


def test_a_program_that_checks_its_code_can_be_left_alone(
    build: Build, watch: Watch
) -> None:
    program = build("loss_own_code.c", "-O1")
    plain = subprocess.run([program, "s"], capture_output=True, text=True, check=True)
    outcome = watch(
        [program, "s"],
        "--lens",
        "loss",
        "--error-exitcode",
        "0",
        env={"LEAKLINE_OPTIONS": f"unpatched=other,{program.name}"},
    )
    assert outcome.stdout == plain.stdout
    said = " ".join(outcome.report["run"]["not_seen"])
    assert "left unpatched as asked" in said


def damage_header(content: bytearray) -> None:
    content[8] ^= 1


def damage_tables(content: bytearray) -> None:
    text_pages, code_pages = struct.unpack_from("<II", content, 16)
    content[PAGE * (1 + text_pages + code_pages) + 3] ^= 1


def cut_short(content: bytearray) -> None:
    del content[-8:]


def cut_in_the_header(content: bytearray) -> None:
    del content[100:]


def expect_another_text(content: bytearray) -> None:
    content[56] ^= 1


def claim_many_tables(content: bytearray) -> None:
    content[24:36] = b"\xff" * 12


@pytest.mark.parametrize(
    "damage",
    [
        damage_header,
        damage_tables,
        cut_short,
        cut_in_the_header,
        expect_another_text,
        claim_many_tables,
    ],
)
def test_a_damaged_plan_is_not_used(
    damage: Callable[[bytearray], None], build: Build, plans: Path
) -> None:
    program = build("loss_own_code.c", "-O1")
    prepare([Wanted(PlanKind.LOSS, program)])
    path = plan_path(plans, program)
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    said = watched(program, plans)
    unfit = "the patch plan does not fit the loaded code and was not used: "
    assert f"{unfit}{program}" in said
    assert sum(unfit in text for text in said) == 1


def test_the_plan_of_another_module_is_not_used(build: Build, plans: Path) -> None:
    program = build("loss_own_code.c", "-O1")
    other = build("loss_memory.c", "-O1")
    prepare([Wanted(PlanKind.LOSS, path) for path in (program, other)])
    shutil.copy(plan_path(plans, other), plan_path(plans, program))
    assert any(
        text.endswith(f"does not fit the loaded code and was not used: {program}")
        for text in watched(program, plans)
    )


def test_a_plan_for_another_version_is_not_used(
    build: Build, plans: Path, tmp_path: Path
) -> None:
    """The changed program has the build-id of the one that the plan was made for."""
    program = build("loss_own_code.c", "-O1")
    prepare([Wanted(PlanKind.LOSS, program)])
    content = program.read_bytes()
    constant = struct.pack("<Q", 0x0348890348890348)
    assert content.count(constant) == 1
    changed = tmp_path / program.name
    changed.write_bytes(content.replace(constant, struct.pack("<Q", 7)))
    changed.chmod(0o755)
    assert any(
        text.endswith(f"does not fit the loaded code and was not used: {changed}")
        for text in watched(changed, plans)
    )


def test_a_plan_that_others_can_write_to_is_not_used(build: Build, plans: Path) -> None:
    program = build("loss_own_code.c", "-O1")
    prepare([Wanted(PlanKind.LOSS, program)])
    plan_path(plans, program).chmod(0o666)
    assert f"the patch plan can be written by others and was not used: {program}" in (
        watched(program, plans)
    )


# Load a word of the system call's description; jump if any bit of a mask is set, or if
# it is equal; return.
LOAD, JUMP_IF_SET, JUMP_IF_EQUAL, RETURN = 0x20, 0x45, 0x15, 0x06
ALLOW, REFUSE_EPERM = 0x7FFF0000, 0x00050001
NUMBER_AT, PROTECTION_AT, FLAGS_AT, FILE_AT = 0, 32, 40, 48
MMAP, EXECUTABLE, OF_LOADER, NO_FILE = 9, 4, 0x800, 0xFFFFFFFF


def forbid_code_from_files() -> None:
    """Let the kernel refuse code from files, unless the loader asks for it.

    As on a folder that is mounted `noexec`, but without privileges.
    """
    program = [
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_EQUAL, 0, 6, MMAP),
        (LOAD, 0, 0, PROTECTION_AT),
        (JUMP_IF_SET, 0, 4, EXECUTABLE),
        (LOAD, 0, 0, FLAGS_AT),
        (JUMP_IF_SET, 2, 0, OF_LOADER),
        (LOAD, 0, 0, FILE_AT),
        (JUMP_IF_EQUAL, 0, 1, NO_FILE),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE_EPERM),
    ]
    code = b"".join(struct.pack("<HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, filter_, 0, 0) == 0  # PR_SET_SECCOMP, a filter


def test_where_code_cannot_be_mapped_nothing_is_patched(
    build: Build, plans: Path
) -> None:
    program = build("loss_own_code.c", "-O1")
    prepare([Wanted(PlanKind.LOSS, program)])
    said = watched(program, plans, forbid_code_from_files)
    forbidden = "the system forbids to patch code: losses in it are not seen: "
    assert f"{forbidden}{program}" in said


PLUGIN = """
#include <stdlib.h>
static long* volatile slot;
long loads_of_{name}(const long* block) {{ return block[1] ^ block[2]; }}
void {name}(void) {{
    slot = calloc(1, {size});
    slot = 0;
}}
"""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        void* library = dlopen(argv[i], RTLD_NOW);
        ((void (*)(void))dlsym(library, argv[i + 1]))();
    }
    return 0;
}
"""


@pytest.mark.parametrize("lenses", ["loss", "loss,accesses"])
def test_two_libraries_of_one_name_have_a_plan_each(
    lenses: str, watch: Watch, tmp_path: Path
) -> None:
    names = ("first_bad", "second_bad")
    arguments = []
    for number, name in enumerate(names):
        library = tmp_path / name / "libsame.so"
        library.parent.mkdir()
        source = PLUGIN.format(name=name, size=40 + 100 * number)
        compile_c(source, library, "-shared", "-fPIC")
        arguments += [str(library), name]
    loader = tmp_path / "loader"
    compile_c(LOADER, loader)
    for _ in range(2):
        outcome = watch([loader, *arguments], "--lens", lenses, "--error-exitcode", "0")
    said = " ".join(outcome.report["run"]["not_seen"])
    assert "not fit" not in said
    # Where trampolines of others lie is not the same in every run: one may be in the way.
    patched = {name for name in names if f"{name}/libsame.so" not in said}
    assert patched
    assert {
        where for where, cause in losses(outcome) if cause == "overwritten"
    } == patched


def compile_c(source: str, target: Path, *flags: str) -> None:
    command = ["gcc", "-g", "-O1", "-x", "c", "-", "-o", str(target), *flags]
    subprocess.run(command, input=source, text=True, check=True)
