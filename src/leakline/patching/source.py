"""What plans are made from: the file of one program or library.

Every way in which a file can be unfit for a plan is a `PlanError`.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leakline.patching.placement import PAGE
from leakline.symbols.elf import (
    SEGMENT_LOAD,
    ElfError,
    ElfFile,
    open_regular,
    read_elf,
)
from leakline.symbols.symbol_table import exported_at
from leakline.symbols.unwind_tables import Function, read_functions

_EXECUTABLE = 1  # p_flags
_FIXED_ADDRESS = 2  # e_type of a program that is not position-independent
_LOWEST_FIXED = 0x10000  # below, the kernel maps nothing
_LOWEST_MOVABLE = -(1 << 40)


class PlanError(Exception):
    """A module cannot be planned; the message says why, without its name."""


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code.

    Attributes:
        base: Link-time address of its first byte.
        content: Its bytes.
    """

    base: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """The file of a module that can be planned.

    Attributes:
        elf: Its headers.
        functions: What its unwind tables cover.
    """

    elf: ElfFile
    functions: list[Function]

    @property
    def is_fixed(self) -> bool:
        """Whether it is always loaded at the same addresses."""
        return self.elf.kind == _FIXED_ADDRESS

    @property
    def start(self) -> int:
        """Address of its first loaded byte."""
        return self.elf.load_address

    @property
    def end(self) -> int:
        """Address behind its last loaded byte."""
        loads = [s for s in self.elf.segments if s.kind == SEGMENT_LOAD]
        return max(s.address + s.memory_size for s in loads)

    @property
    def lowest(self) -> int:
        """Below this address there is no room for trampolines."""
        return _LOWEST_FIXED if self.is_fixed else _LOWEST_MOVABLE

    def section(self, name: str) -> Code:
        """Return a section of code.

        Raises:
            PlanError: There is none, or it cannot be read.
        """
        with _refusing():
            return Code(_section_address(self.elf, name), self.elf.section(name))

    def functions_but(self, names: Collection[str]) -> list[Function]:
        """The functions without those that the file offers to others by some names.

        Raises:
            PlanError: Its symbols cannot be read.
        """
        with _refusing():
            left_out = exported_at(self.elf, names)
        return [one for one in self.functions if one.start not in left_out]

    def code_pages(self) -> Code:
        """Return the pages that hold the code.

        The runtime picks the largest executable segment likewise.

        Raises:
            PlanError: There are none, or they cannot be read.
        """
        with _refusing():
            return _code_pages(self.elf)


def read_source(path: Path) -> Source:
    """Read the file of a module.

    Raises:
        PlanError: It has no build-id, no unwind tables, or is damaged.
    """
    with _refusing():
        elf = read_elf(path)
        if not elf.build_id:
            raise PlanError("it has no build-id")
        address = _section_address(elf, ".eh_frame")
        return Source(elf, list(read_functions(elf.section(".eh_frame"), address)))


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except ElfError as error:
        raise PlanError(str(error)) from None
    except (IndexError, KeyError, ValueError):
        raise PlanError("its unwind tables cannot be read") from None


def _code_pages(elf: ElfFile) -> Code:
    segments = [
        s for s in elf.segments if s.kind == SEGMENT_LOAD and s.flags & _EXECUTABLE
    ]
    if not segments:
        raise PlanError("it has no code")
    segment = max(segments, key=lambda s: s.memory_size)
    lead = segment.address % PAGE
    pages = -(-(lead + segment.memory_size) // PAGE)
    with open_regular(elf.path) as file:
        file.seek(segment.offset - lead)
        content = file.read(pages * PAGE)
    return Code(segment.address - lead, content.ljust(pages * PAGE, b"\0"))


def _section_address(elf: ElfFile, name: str) -> int:
    section = elf.sections.get(name)
    if section is None:
        raise PlanError(f"it has no {name} section")
    for segment in elf.segments:
        inside = section.offset - segment.offset
        if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
            return segment.address + inside
    raise PlanError(f"its {name} section is not loaded")
