"""Finds the file that holds the debug information of a module.

Looks where debuggers look: in the module itself, by build-id and by debug link below
the system's debug folder. A file counts only if it provably belongs to the module.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

from leakline.symbols.elf import ElfError, ElfFile, read_elf

DEBUG_FOLDERS = (Path("/usr/lib/debug"), Path("/usr/local/lib/debug"))
READ_BYTES = 1 << 20
BUILD_ID_LIMIT = 64


@dataclass(frozen=True, slots=True)
class DebugFiles:
    """Where the debug information of a module lies.

    Attributes:
        main: The file with the DWARF data, None when there is none.
        supplementary: The file that several share their common parts in
            (`.gnu_debugaltlink`), None when `main` needs none or it is missing.
        missing: What `main` refers to but is not there; empty when nothing is.
    """

    main: ElfFile | None
    supplementary: ElfFile | None = None
    missing: str = ""


def find_debug_files(module: ElfFile | None, build_id: bytes) -> DebugFiles:
    """The debug files of a module; `module` is None when only its build-id is known."""
    folders = DEBUG_FOLDERS
    main = _find_main(module, build_id, folders)
    if main is None or not main.has_contents(".gnu_debugaltlink"):
        return DebugFiles(main)
    link, _, wanted = main.section(".gnu_debugaltlink").partition(b"\0")
    name = link.decode("utf-8", "replace")
    for path in _supplementary_places(main.path, name, wanted, folders):
        elf = _readable(path)
        if elf is not None and elf.build_id == wanted:
            return DebugFiles(main, elf)
    return DebugFiles(main, missing=name)


def _find_main(
    module: ElfFile | None, build_id: bytes, folders: tuple[Path, ...]
) -> ElfFile | None:
    if module is not None and module.has_contents(".debug_info"):
        return module
    for path in _build_id_places(build_id, folders):
        elf = _readable(path)
        if elf is not None and elf.build_id == build_id and _has_debug(elf):
            return elf
    return _find_by_link(module, folders) if module is not None else None


def _has_debug(elf: ElfFile) -> bool:
    return elf.has_contents(".debug_info")


def _build_id_places(build_id: bytes, folders: tuple[Path, ...]) -> list[Path]:
    text = build_id[:BUILD_ID_LIMIT].hex()
    if not text:
        return []
    name = f"{text[2:]}.debug"
    return [folder / ".build-id" / text[:2] / name for folder in folders]


def _find_by_link(module: ElfFile, folders: tuple[Path, ...]) -> ElfFile | None:
    link = module.section(".gnu_debuglink")
    name = link.split(b"\0", 1)[0].decode("utf-8", "replace")
    if not name or "/" in name:
        return None
    checksum = int.from_bytes(link[-4:], "little")
    folder = module.path.resolve().parent
    below = [debug / folder.relative_to("/") / name for debug in folders]
    for path in (folder / name, folder / ".debug" / name, *below):
        elf = _readable(path)
        if elf is not None and _has_debug(elf) and _checksum(path) == checksum:
            return elf
    return None


def _supplementary_places(
    main: Path, name: str, build_id: bytes, folders: tuple[Path, ...]
) -> list[Path]:
    beside = main.resolve().parent / name
    dwz = [folder / ".dwz" / Path(name).name for folder in folders]
    return [beside, *_build_id_places(build_id, folders), *dwz]


def _readable(path: Path) -> ElfFile | None:
    try:
        return read_elf(path) if path.is_file() else None
    except (ElfError, OSError, ValueError):
        return None


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            value = zlib.crc32(data, value)
    return value
