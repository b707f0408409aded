import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.model.stack import Frame, Naming
from leakline.symbols.elf import read_elf
from leakline.symbols.resolve import Address, Module, resolve
from leakline.symbols.symbol_table import SymbolTable, read_symbol_table

NESTED = """
#include <cstdlib>
namespace shop {
template <class T> struct Shelf {
    T* take(int count) { return static_cast<T*>(std::malloc(count * sizeof(T))); }
};
static inline int* order(int count) { return Shelf<int>().take(count); }
__attribute__((noinline)) int* serve(int count) {
    int* goods = order(count);
    asm volatile("" ::: "memory");
    return goods;
}
}
extern "C" __attribute__((visibility("default"))) int exported(int count) {
    return shop::serve(count) == nullptr;
}
int main(int count, char**) { return exported(count); }
"""

Compile = Callable[..., Path]


def names_in(program: Path, address: int) -> tuple[Frame, ...]:
    module = Module(str(program), read_elf(program).build_id)
    return resolve({module: [address]}).frames[Address(module, address)]


def function_range(program: Path, symbol: str) -> range:
    table: SymbolTable = read_symbol_table(read_elf(program))
    for address, size in zip(table.addresses, table.sizes, strict=True):
        named = table.find(address)
        if named is not None and named.symbol == symbol:
            return range(address, address + size)
    raise LookupError(symbol)


def deepest(program: Path, addresses: range) -> tuple[Frame, ...]:
    """The frames of the address with most inlined calls."""
    module = Module(str(program), read_elf(program).build_id)
    return max(resolve({module: addresses}).frames.values(), key=len)


SERVE = "_ZN4shop5serveEi"


@pytest.mark.parametrize("flags", [("-gdwarf-4",), ("-gdwarf-5",), ("-g", "-no-pie")])
def test_inlined_calls_are_named_innermost_first(
    compiled: Compile, flags: tuple[str, ...]
) -> None:
    program = compiled(NESTED, "-O2", *flags, language="cpp")
    frames = deepest(program, function_range(program, SERVE))
    assert [frame.function for frame in frames] == [
        "shop::Shelf<int>::take(int)",
        "order",
        "shop::serve(int)",
    ]
    assert [frame.line for frame in frames] == [5, 7, 9]
    assert [frame.inlined for frame in frames] == [True, True, False]
    assert {frame.naming for frame in frames} == {Naming.DEBUG_INFO}
    assert frames[-1].symbol == SERVE
    assert all(frame.file.endswith(".cpp") for frame in frames)


def test_compressed_debug_information_is_read(compiled: Compile) -> None:
    program = compiled(NESTED, "-O2", "-g", "-gz=zlib", language="cpp")
    assert len(deepest(program, function_range(program, SERVE))) == 3


def stripped(program: Path, folder: Path) -> Path:
    target = folder / program.name
    subprocess.run(["strip", "-o", target, program], check=True)
    return target


def test_a_stripped_file_names_exported_functions_and_says_so(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled(NESTED, "-O2", "-rdynamic", language="cpp")
    inside = function_range(program, "exported")
    plain = stripped(program, tmp_path)
    (covered,) = names_in(plain, inside[1])
    assert (covered.function, covered.naming) == ("exported", Naming.SYMBOL)
    (nearest,) = names_in(plain, inside[-1] + 1)
    assert (nearest.function, nearest.naming) == ("exported", Naming.NEAREST)
    assert (nearest.file, nearest.line) == ("", 0)


def test_a_file_without_any_symbol_gives_frames_without_names(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled(NESTED, "-O2", "-fvisibility=hidden", language="cpp")
    address = function_range(program, SERVE)[0]
    (frame,) = names_in(stripped(program, tmp_path), address)
    assert (frame.function, frame.naming, frame.offset) == ("", Naming.NONE, address)


def split_off_debug(program: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["objcopy", "--only-keep-debug", str(program), str(target)]
    subprocess.run(command, check=True)


def build_id_path(program: Path, folder: Path) -> Path:
    name = read_elf(program).build_id.hex()
    return folder / ".build-id" / name[:2] / f"{name[2:]}.debug"


def test_a_debug_file_is_found_by_build_id(
    compiled: Compile, tmp_path: Path, own_folders: Path
) -> None:
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    split_off_debug(program, build_id_path(program, own_folders))
    frames = deepest(stripped(program, tmp_path), function_range(program, SERVE))
    assert len(frames) == 3


def test_a_debug_link_is_followed_only_to_the_very_file(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled(NESTED, "-O2", "-g", "-Wl,--build-id=none", language="cpp")
    debug = tmp_path / "program.debug"
    split_off_debug(program, debug)
    plain = stripped(program, tmp_path)
    link = f"--add-gnu-debuglink={debug}"
    subprocess.run(["objcopy", link, plain], check=True, cwd=tmp_path)
    addresses = function_range(program, SERVE)
    assert len(deepest(plain, addresses)) == 3
    with debug.open("ab") as file:
        file.write(b"changed")
    assert deepest(plain, addresses)[0].naming is not Naming.DEBUG_INFO


@pytest.mark.skipif(shutil.which("dwz") is None, reason="dwz is not installed")
def test_names_in_a_shared_debug_file_are_found(
    compiled: Compile, tmp_path: Path, own_folders: Path
) -> None:
    one = compiled(NESTED, "-O2", "-g", language="cpp")
    other = compiled(NESTED + "int more;\n", "-O2", "-g", language="cpp")
    files = [build_id_path(program, own_folders) for program in (one, other)]
    for program, file in zip((one, other), files, strict=True):
        split_off_debug(program, file)
    shared = own_folders / ".dwz" / "shared.debug"
    shared.parent.mkdir()
    subprocess.run(["dwz", "-m", shared, "-M", shared, *files], check=True)
    assert read_elf(files[0]).has_contents(".gnu_debugaltlink")
    plain = stripped(one, tmp_path)
    frames = deepest(plain, function_range(one, SERVE))
    assert [frame.function for frame in frames] == [
        "shop::Shelf<int>::take(int)",
        "order",
        "shop::serve(int)",
    ]
    shared.unlink()
    module = Module(str(plain), read_elf(plain).build_id)
    assert any(
        "shared.debug is missing" in note for note in resolve({module: [0]}).notes
    )


def test_a_file_that_changed_since_the_run_is_not_used(compiled: Compile) -> None:
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    module = Module(str(program), b"another build")
    address = function_range(program, SERVE)[0]
    resolved = resolve({module: [address]})
    (frame,) = resolved.frames[Address(module, address)]
    assert (frame.function, frame.naming) == ("", Naming.NONE)
    assert "build-id differs" in resolved.notes[0]


def test_a_newer_file_without_build_id_is_not_used(compiled: Compile) -> None:
    program = compiled(NESTED, "-O2", "-g", "-Wl,--build-id=none", language="cpp")
    changed_ns = program.stat().st_mtime_ns
    module = Module(str(program), b"")
    address = Address(module, function_range(program, SERVE)[0])
    requests = {module: [address.offset]}
    before = resolve(requests, recorded_ns=changed_ns - 1)
    assert before.frames[address][0].naming is Naming.NONE
    assert "newer than the run" in before.notes[0]
    after = resolve(requests, recorded_ns=changed_ns + 1)
    assert after.frames[address][0].naming is Naming.DEBUG_INFO
    assert after.notes == []


def test_a_vanished_file_is_named_from_its_debug_file(
    compiled: Compile, tmp_path: Path, own_folders: Path
) -> None:
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    module = Module(str(tmp_path / "gone"), read_elf(program).build_id)
    address = function_range(program, SERVE)[0]
    lost = resolve({module: [address]})
    assert lost.frames[Address(module, address)][0].naming is Naming.NONE
    assert "No such file" in lost.notes[0]
    split_off_debug(program, build_id_path(program, own_folders))
    found = resolve({module: [address]})
    assert found.frames[Address(module, address)][0].naming is Naming.DEBUG_INFO
    assert found.notes == []


@pytest.mark.parametrize("path", ["", "[vdso]", "linux-vdso.so.1"])
def test_code_without_a_file_stays_unnamed_without_complaint(path: str) -> None:
    module = Module(path, b"")
    resolved = resolve({module: [0x1234]})
    (frame,) = resolved.frames[Address(module, 0x1234)]
    assert (frame.function, frame.module, frame.offset) == ("", path, 0x1234)
    assert resolved.notes == []


def test_library_functions_have_the_names_their_callers_use(compiled: Compile) -> None:
    text = """
    int __shelf(int n) { asm volatile("" : "+r"(n)); return n + 1; }
    int shelf(int n) __attribute__((weak, alias("__shelf")));
    int main(int n, char** v) { (void)v; return __shelf(n); }
    """
    program = compiled(text, "-O0", "-g")
    frames = names_in(program, function_range(program, "shelf")[2])
    assert [frame.function for frame in frames] == ["shelf"]


def test_the_second_report_uses_the_cache(
    compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    addresses = function_range(program, SERVE)
    first = deepest(program, addresses)
    entries = list((tmp_path / "cache/leakline/symbols").iterdir())
    assert [entry.stat().st_mode & 0o777 for entry in entries] == [0o600]
    monkeypatch.setattr("leakline.symbols.debug_info._build", _must_not_build)
    assert deepest(program, addresses) == first


def _must_not_build(path: str) -> None:
    raise AssertionError(path)


def test_a_cache_that_others_can_write_to_is_not_used(
    compiled: Compile, tmp_path: Path
) -> None:
    folder = tmp_path / "cache/leakline"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    assert len(deepest(program, function_range(program, SERVE))) == 3
    assert list(folder.iterdir()) == []


def test_a_damaged_cache_entry_is_replaced(compiled: Compile, tmp_path: Path) -> None:
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    addresses = function_range(program, SERVE)
    first = deepest(program, addresses)
    (entry,) = (tmp_path / "cache/leakline/symbols").iterdir()
    good = entry.read_bytes()
    entry.write_bytes(b"not a table")
    assert deepest(program, addresses) == first
    assert entry.read_bytes() == good


def test_the_oldest_cache_entries_go_when_it_is_full(
    compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakline.symbols.cache.SIZE_LIMIT_BYTES", 1)
    program = compiled(NESTED, "-O2", "-g", language="cpp")
    assert len(deepest(program, function_range(program, SERVE))) == 3
    assert list((tmp_path / "cache/leakline/symbols").iterdir()) == []


def test_an_embedded_symbol_table_is_used(compiled: Compile, tmp_path: Path) -> None:
    program = compiled(NESTED, "-O2", language="cpp")
    addresses = function_range(program, SERVE)
    table = tmp_path / "table"
    split_off_debug(program, table)
    packed = tmp_path / "table.xz"
    packed.write_bytes(lzma.compress(table.read_bytes()))
    plain = stripped(program, tmp_path)
    section = f"--add-section=.gnu_debugdata={packed}"
    subprocess.run(["objcopy", section, str(plain)], check=True)
    (frame,) = names_in(plain, addresses[1])
    assert (frame.function, frame.naming) == ("shop::serve(int)", Naming.SYMBOL)
    packed.write_bytes(b"no xz data")
    broken = stripped(program, tmp_path)
    subprocess.run(["objcopy", section, str(broken)], check=True)
    assert names_in(broken, addresses[1])[0].function != "shop::serve(int)"
