"""Plans of real libraries: what they read, where they jump, and how they are stored."""

import itertools
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from leakline.errors import ProgramError
from leakline.patching.kinds import PlanKind
from leakline.patching.module import make_plan
from leakline.patching.placement import JUMP_LENGTH, PAGE, Space, window
from leakline.patching.plan import Patch, Plan
from leakline.patching.plan_file import HEADER, MAPPING, RUN, serialise, text_sum
from leakline.patching.plans import Wanted, modules_of, plan_folder, prepare
from leakline.patching.source import PlanError
from leakline.symbols.unwind_tables import RBP, RSP, read_functions

ZLIB = next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1")).resolve()
BASH = Path("/bin/bash")
GAWK = Path("/usr/bin/gawk")  # linked at a fixed address: half of the room is missing


def wanted(modules: list[Path]) -> list[Wanted]:
    return [Wanted(PlanKind.LOSS, module) for module in modules]


@cache
def plan_of(path: Path) -> Plan:
    return make_plan(path)


def target_of(code: bytearray, base: int, patch: Patch) -> int:
    """Return where the jump in a patched instruction leads."""
    start = patch.address - base + patch.jump_at
    assert set(code[start - patch.jump_at : start]) <= {0x26}
    if code[start] == 0xEB:
        start += 2 + code[start + 1]
    assert code[start] == 0xE9
    distance = int.from_bytes(code[start + 1 : start + 5], "little", signed=True)
    return base + start + JUMP_LENGTH + distance


def test_rules_agree_with_another_reader() -> None:
    with ZLIB.open("rb") as file:
        elf = ELFFile(file)
        section = elf.get_section_by_name(".eh_frame")
        assert section is not None
        ours = {
            function.start: function
            for function in read_functions(section.data(), section["sh_addr"])
        }
        entries = [e for e in elf.get_dwarf_info().EH_CFI_entries() if type(e) is FDE]
    compared = 0
    for entry in entries:
        function = ours[entry["initial_location"]]
        assert function.end - function.start == entry["address_range"]
        for row in entry.get_decoded().table:
            rule = function.rule_at(row["pc"])
            if row["cfa"].expr is None and row["cfa"].reg in (RSP, RBP):
                assert rule is not None
                assert (rule.register, rule.offset) == (
                    row["cfa"].reg,
                    row["cfa"].offset,
                )
                compared += 1
    assert compared > 500


@pytest.mark.parametrize("path", [ZLIB, GAWK])
def test_every_patch_leads_to_its_trampoline(path: Path) -> None:
    """Applies a plan to a copy of the code, as the runtime does, and follows it."""
    plan = plan_of(path)
    code, base = bytearray(plan.original), plan.base
    for patch in plan.patches:
        start = patch.address - base
        end = start + len(patch.replacement)
        assert code[start:end] == patch.original
        code[start:end] = patch.replacement
        target = target_of(code, base, patch)
        starts = {patch.page + offset for offset, _ in plan.pages[patch.page].pieces}
        assert target in starts
    for patch in plan.patches:
        target = target_of(code, base, patch)
        assert target & -PAGE == patch.page
    assert code == plan.code


@pytest.mark.parametrize("path", [ZLIB, BASH, GAWK])
def test_nearly_all_stores_are_patched(path: Path) -> None:
    plan = plan_of(path)
    patched = sum(patch.stores for patch in plan.patches)
    assert patched + sum(plan.left_out.values()) == plan.stores
    assert patched > 0.995 * plan.stores


def test_places_tell_all_stores_that_are_patched() -> None:
    plan = plan_of(GAWK)
    stores = {store for _, store in plan.places}
    assert len(stores) == sum(patch.stores for patch in plan.patches)
    places = [place % (1 << 32) for place, _ in plan.places]
    assert len(set(places)) == len(places)


def test_short_jumps_lead_into_moved_instructions() -> None:
    plan = plan_of(GAWK)
    patches = {patch.address: patch for patch in plan.patches}
    short = [patch for patch in plan.patches if patch.replacement[:1] == b"\xeb"]
    assert len(short) > 10
    for patch in short:
        inside = patch.address + 2 + patch.replacement[1]
        (host,) = (
            patches[address]
            for address in range(inside - 12, inside)
            if address in patches
            and address + len(patches[address].replacement) > inside
        )
        assert host.stores == 0


def test_shared_pages_hold_the_code_of_all_they_are_mapped_for() -> None:
    plan = plan_of(ZLIB)
    content = serialise(plan)
    fields = HEADER.unpack_from(content)
    text_pages, code_pages, runs, mappings = fields[3:7]
    assert code_pages < mappings == len(plan.pages)
    assert zlib.crc32(content[PAGE:]) == fields[11]
    tables = PAGE * (1 + text_pages + code_pages)
    end = tables + runs * RUN.size + mappings * MAPPING.size
    assert zlib.adler32(content[tables:end]) == fields[12]
    for at in range(tables + runs * RUN.size, end, MAPPING.size):
        address, page, _ = MAPPING.unpack_from(content, at)
        start = PAGE * (1 + text_pages + page)
        for offset, code in plan.pages[address].pieces:
            piece = content[start + offset : start + offset + len(code)]
            assert piece == code


def test_the_patched_text_is_kept_as_pages() -> None:
    plan = plan_of(ZLIB)
    content = serialise(plan)
    fields = HEADER.unpack_from(content)
    text_pages, code_pages, runs = fields[3:6]
    tables = PAGE * (1 + text_pages + code_pages)
    original = b""
    for at in range(tables, tables + runs * RUN.size, RUN.size):
        address, page, count = RUN.unpack_from(content, at)
        start = PAGE * (1 + page)
        patched = content[start : start + count * PAGE]
        assert patched == plan.bytes_at(address, count * PAGE)
        original += plan.original_at(address, count * PAGE)
    assert text_sum(original) == fields[13:15]
    words = [original[i : i + 8] for i in range(0, len(original), 8)]
    numbers = [int.from_bytes(word, "little") for word in words]
    prefixes = list(itertools.accumulate(numbers))
    assert fields[13:15] == (prefixes[-1] % 2**64, sum(prefixes) % 2**64)


@pytest.mark.parametrize("path", [ZLIB, BASH, GAWK])
def test_trampolines_never_overlap(path: Path) -> None:
    for page in plan_of(path).pages.values():
        spans = sorted((offset, offset + len(code)) for offset, code in page.pieces)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert spans[-1][1] <= PAGE


@pytest.mark.parametrize("path", [ZLIB, BASH])
def test_few_trampolines_lie_above_what_can_be_moved(path: Path) -> None:
    """A library at the end of the address space has no room above."""
    plan = plan_of(path)
    above = sum(patch.page > plan.base for patch in plan.patches)
    assert above / len(plan.patches) < 0.005


def test_a_window_is_what_a_pun_can_reach() -> None:
    following = b"\x8b\x05"
    first, last = window(0x1000, 3, following)
    for target in (first, last):
        jump = (target - 0x1000 - JUMP_LENGTH).to_bytes(4, "little", signed=True)
        assert jump[2:] == following
    outside = (last + 1 - 0x1000 - JUMP_LENGTH).to_bytes(4, "little", signed=True)
    assert outside[2:] != following


def test_room_is_given_once_and_away_from_the_module() -> None:
    space = Space(start=0, end=1 << 20, lowest=-(1 << 40), spread=3)
    taken: Counter[int] = Counter()
    for number in range(300):
        place = space.take_window(-(1 << 28) + number, -(1 << 28) + number + 65535, 90)
        assert place is not None
        assert not 0 <= place < 1 << 20
        taken.update(range(place, place + 90))
    assert max(taken.values()) == 1


def test_a_file_that_is_no_module_is_refused() -> None:
    with pytest.raises(PlanError, match="not an ELF file"):
        make_plan(Path(__file__))


def test_a_program_brings_its_libraries() -> None:
    names = [path.name for path in modules_of(BASH)]
    assert names[0].startswith("bash")
    assert any(name.startswith("libc.so") for name in names)
    assert not any(name.startswith("ld-linux") for name in names)


def test_libraries_of_a_program_in_the_current_folder_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(BASH.parent)
    monkeypatch.setenv("PATH", "/nowhere")
    assert modules_of(Path("./bash")) == modules_of(BASH)


def test_a_folder_that_others_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = plan_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(ProgramError, match="others can write"):
        plan_folder()


def test_without_a_place_for_plans_the_user_hears_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    with pytest.raises(ProgramError, match="set XDG_CACHE_HOME"):
        plan_folder()


def test_plans_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    steps: list[tuple[int, int]] = []
    modules = modules_of(Path("/bin/true"))
    prepare(wanted(modules), lambda _, done, total: steps.append((done, total)))
    made = {path: path.stat().st_mtime_ns for path in plan_folder().iterdir()}
    assert len(made) == 2
    assert steps == [(1, 2), (2, 2)]
    prepare(wanted(modules))
    assert made == {path: path.stat().st_mtime_ns for path in plan_folder().iterdir()}


def damage_code(content: bytearray) -> None:
    content[PAGE + 5] ^= 1


def damage_tables(content: bytearray) -> None:
    content[-5] ^= 1


def cut_short(content: bytearray) -> None:
    del content[-100:]


def make_foreign(content: bytearray) -> None:
    content[:8] = b"llplan00"


@pytest.mark.parametrize(
    "damage", [damage_code, damage_tables, cut_short, make_foreign]
)
def test_a_plan_that_cannot_be_used_is_made_again(
    damage: Callable[[bytearray], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prepare(wanted([ZLIB]))
    (path,) = plan_folder().iterdir()
    good = path.read_bytes()
    content = bytearray(good)
    damage(content)
    path.write_bytes(content)
    prepare(wanted([ZLIB]))
    assert path.read_bytes() == good


def test_a_plan_that_others_can_write_to_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prepare(wanted([ZLIB]))
    (path,) = plan_folder().iterdir()
    path.chmod(0o666)
    prepare(wanted([ZLIB]))
    assert path.stat().st_mode & 0o777 == 0o600
