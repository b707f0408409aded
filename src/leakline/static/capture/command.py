"""What a build did: compilations and links, with absolute paths."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Compilation:
    """One source that was compiled.

    Attributes:
        source: The file, as the command names it.
        flags: Options that matter for clang, without source and output.
        output: Absolute path of the object; the key that links refer to.
    """

    directory: Path
    source: str
    flags: tuple[str, ...]
    output: Path

    @property
    def source_path(self) -> Path:
        """The source's absolute path."""
        return self.directory / self.source


@dataclass(frozen=True, slots=True)
class LinkStep:
    """One archive, program or library that was put together.

    Attributes:
        inputs: Absolute paths of objects, archives and libraries.
        libraries: Names given with -l.
        closed: A program, as opposed to a library or an archive.
    """

    output: Path
    inputs: tuple[Path, ...]
    libraries: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """Everything seen of a build; later compilations of an output replace earlier ones.

    Attributes:
        remarks: Sentences about what could not be used.
    """

    compilations: tuple[Compilation, ...]
    links: tuple[LinkStep, ...] = ()
    remarks: tuple[str, ...] = ()
