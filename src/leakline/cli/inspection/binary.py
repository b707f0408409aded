"""What the file of a program says about how well it can be watched."""

from collections.abc import Iterator
from pathlib import Path

from leakline.cli.inspection.elf_header import ElfHeader
from leakline.cli.inspection.observation import Observation, State
from leakline.cli.inspection.program import interpreter_of_script, why_unwatchable
from leakline.symbols.debug_files import find_debug_files
from leakline.symbols.elf import ElfError, ElfFile, read_elf
from leakline.symbols.symbol_table import SYMBOL_64

_FIXED_ADDRESS = 2
_OTHER_ALLOCATORS = ("libjemalloc", "libtcmalloc", "libmimalloc", "libhoard")
_PROPERTIES = ".note.gnu.property"
_CET = (0xC0000002).to_bytes(4, "little")  # the property that marks IBT and SHSTK
_LONGEST_BUILD_ID_SHOWN = 8


def inspect_program(path: str) -> Iterator[Observation]:
    """Facts about a program, the decisive one first."""
    interpreter = interpreter_of_script(path)
    if interpreter:
        words = f"{path} is a script: its interpreter {interpreter} is watched"
        yield Observation("script", State.GOOD, words)
        yield from inspect_program(interpreter)
        return
    reason = why_unwatchable(path)
    if reason:
        yield Observation("program", State.BAD, f"{path} {reason}")
        return
    try:
        elf = read_elf(Path(path))
    except ElfError as error:
        words = f"{path} cannot be inspected ({error}); it can be watched all the same"
        yield Observation("program", State.LIMITED, words)
        return
    yield _kind(elf)
    with elf.path.open("rb") as file:
        yield _allocator(elf, ElfHeader(file).needed)
    yield _stacks(elf)
    yield _names(elf)
    if elf.has_contents(_PROPERTIES) and _CET in elf.section(_PROPERTIES):
        words = "marked for control-flow protection (CET); no lens here minds"
        yield Observation("protection", State.GOOD, words)


def _kind(elf: ElfFile) -> Observation:
    where = "at a fixed address" if elf.kind == _FIXED_ADDRESS else "at any address"
    words = f"64-bit x86, dynamically linked, runs {where}"
    return Observation("program", State.GOOD, words)


def _allocator(elf: ElfFile, needed: tuple[str, ...]) -> Observation:
    if _defines(elf, b"malloc"):
        words = (
            "the program brings its own malloc (as when jemalloc or tcmalloc is linked "
            "in): blocks it hands out are not seen; link that allocator as a shared "
            "library, or leave it out, to watch the program"
        )
        return Observation("allocator", State.BAD, words)
    others = [name for name in needed if name.startswith(_OTHER_ALLOCATORS)]
    words = f"malloc comes from {' and '.join(others) or 'the C library'}; the runtime "
    words += "takes its place while the program is watched"
    return Observation("allocator", State.GOOD, words)


def _stacks(elf: ElfFile) -> Observation:
    if elf.has_contents(".eh_frame_hdr"):
        words = "unwind tables are there: call stacks will be complete"
        return Observation("stacks", State.GOOD, words)
    words = (
        "there are no unwind tables (.eh_frame_hdr): call stacks will end in this "
        "program; build it with -fasynchronous-unwind-tables"
    )
    return Observation("stacks", State.LIMITED, words)


def _names(elf: ElfFile) -> Observation:
    build_id = elf.build_id.hex()[:_LONGEST_BUILD_ID_SHOWN] or "none"
    debug = find_debug_files(elf, elf.build_id).main
    if debug is not None:
        inside = debug.path == elf.path
        where = "inside" if inside else f"in {debug.path}"
        words = f"debug information {where} (build-id {build_id}): file and line"
        return Observation("names", State.GOOD, words)
    if elf.has_contents(".symtab"):
        words = f"no debug information (build-id {build_id}): functions without lines"
    else:
        words = (
            f"stripped (build-id {build_id}): nearest exported functions only; install "
            "its debug package or build it with -g"
        )
    return Observation("names", State.LIMITED, words)


def _defines(elf: ElfFile, function: bytes) -> bool:
    """Whether a symbol table has the function with code of its own."""
    pairs = ((".symtab", ".strtab"), (".dynsym", ".dynstr"))
    return any(
        _table_defines(elf.section(table), elf.section(names), function)
        for table, names in pairs
    )


def _table_defines(table: bytes, names: bytes, function: bytes) -> bool:
    wanted = b"\0" + function + b"\0"
    places = set()
    at = names.find(wanted)
    while at >= 0:
        places.add(at + 1)
        at = names.find(wanted, at + 1)
    whole = table[: len(table) // SYMBOL_64.size * SYMBOL_64.size]
    return bool(places) and any(
        row[0] in places and row[3] != 0 for row in SYMBOL_64.iter_unpack(whole)
    )
