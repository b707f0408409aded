"""What to check: source files, folders with a compile database, or a build."""

import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from leakline.errors import CheckError, UsageError
from leakline.static.cache import user_cache_folder
from leakline.static.capture import database
from leakline.static.capture.command import Build, Compilation, LinkStep
from leakline.static.capture.flags import SOURCE_SUFFIXES
from leakline.static.capture.recorder import record_build


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was asked for, and sentences about what cannot be had of it."""

    build: Build
    problems: tuple[str, ...] = ()


def find_inputs(arguments: Namespace) -> Inputs:
    """Find the compilations that the command line asks for.

    Raises:
        UsageError: The command line names nothing to check.
        CheckError: Nothing of what it names can be checked.
    """
    if arguments.build is not None:
        if arguments.inputs:
            raise UsageError("name files and folders or a build command, not both")
        return _recorded(arguments.build)
    if not arguments.inputs:
        raise UsageError(
            "name what to check: leakline check FILE.c ..., a folder with "
            f"{database.NAME}, or -- BUILD COMMAND"
        )
    return _named(arguments.inputs, _extra_flags(arguments))


def _recorded(command: Sequence[str]) -> Inputs:
    if not command:
        raise UsageError("name the build command: leakline check -- make -j4")
    with tempfile.TemporaryDirectory(prefix="leakline-") as work:
        records = Path(work) / "records"
        records.mkdir()
        tools = (user_cache_folder() or Path(work)) / "build-tools"
        status, build = record_build(command, records, tools)
    words = " ".join(command)
    if not build.compilations:
        raise CheckError(
            f"the build `{words}` (exit status {status}) compiled no C or C++ source; "
            "if everything is up to date, clean it first, and if it calls a compiler "
            f"other than GCC by its full path, have it write a {database.NAME}"
        )
    failed = f"The build `{words}` ended with status {status}; what it compiled "
    failed += "before was checked."
    return Inputs(build, (*build.remarks, *([failed] if status else [])))


def _extra_flags(arguments: Namespace) -> tuple[str, ...]:
    # A compile database may compile in another folder than the user's.
    folders = (f"-I{Path(folder).absolute()}" for folder in arguments.include)
    return (*folders, *(f"-D{macro}" for macro in arguments.define))


def _named(paths: Sequence[Path], flags: tuple[str, ...]) -> Inputs:
    compilations: dict[Path, Compilation] = {}
    links: list[LinkStep] = []
    problems: list[str] = []
    for path in paths:
        try:
            found = _of_path(path, flags)
        except CheckError as error:
            problems.append(_sentence(str(error)))
            continue
        problems += found.remarks
        compilations.update({c.output: c for c in found.compilations})
        links += found.links
    if not compilations:
        raise CheckError(" ".join(problems) or "there is nothing to check")
    return Inputs(Build(tuple(compilations.values()), tuple(links)), tuple(problems))


def _of_path(path: Path, flags: tuple[str, ...]) -> Build:
    if path.is_dir():
        return _of_database(path / database.NAME)
    if path.name == database.NAME:
        return _of_database(path)
    if not path.exists():
        raise CheckError(f"there is no file {path}")
    if path.suffix not in SOURCE_SUFFIXES:
        raise CheckError(f"{path} is not a C or C++ source")
    return _of_source(path.absolute(), flags)


def _of_database(path: Path) -> Build:
    if not path.exists():
        raise CheckError(
            f"{path.parent} holds no {database.NAME}; have the build system write one, "
            "or run the build as in leakline check -- make"
        )
    build = database.read_database(path.absolute())
    if not build.compilations:
        raise CheckError(f"{path} names no C or C++ source")
    return build


def _of_source(path: Path, flags: tuple[str, ...]) -> Build:
    """A source with the options that the nearest compile database has for it."""
    for candidate in _databases_above(path):
        try:
            build = database.read_database(candidate)
        except CheckError:
            continue
        known = [c for c in build.compilations if _is_same(c.source_path, path)]
        if known:
            first = known[0]
            merged = Compilation(
                first.directory, first.source, first.flags + flags, first.output
            )
            return Build((merged,))
    return Build((Compilation(Path.cwd(), str(path), flags, path),))


def _databases_above(path: Path) -> Iterable[Path]:
    for folder in path.parents:
        for candidate in (folder, folder / "build"):
            if (candidate / database.NAME).is_file():
                yield candidate / database.NAME


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.name == other.name and one.samefile(other)
    except OSError:
        return False


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."
