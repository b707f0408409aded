"""Sources of packages, most of them Debian's, and how each is built by a compiler."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apt_sources import download_command

PROGRAMS = Path(__file__).parent / "programs"
_MULTIARCH = '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n'


@dataclass(frozen=True, slots=True)
class Build:
    """One way to build: a name for its folder, a compiler and its flags."""

    name: str
    compiler: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A program that is built from source.

    Attributes:
        prepare: Gets the sources ready in a folder of their own, once.
        script: Builds it; $CC, $CFLAGS and $SOURCE are set, and the folder is empty.
        program: What comes out, in that folder.
        packages: Debian packages that the build needs.
    """

    name: str
    prepare: Callable[[Path], None]
    script: str
    program: str
    packages: tuple[str, ...] = ()


def fetch(package: str) -> Callable[[Path], None]:
    """Return a function that unpacks the source of a Debian package."""

    def unpack(folder: Path) -> None:
        parent = folder.parent / f"{package}-download"
        parent.mkdir()
        download = download_command(package)
        subprocess.run(download, cwd=parent, check=True, capture_output=True)
        (description,) = parent.glob("*.dsc")
        unpacking = ["dpkg-source", "--no-check", "-x", str(description), str(folder)]
        subprocess.run(unpacking, check=True, capture_output=True)
        shutil.rmtree(parent)
        _make_equally_old(folder)

    return unpack


def _make_equally_old(folder: Path) -> None:
    """Let no generated file be older than one that a patch changed.

    A build would otherwise run the tools that generated it, which may not be there.
    """
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now), follow_symlinks=False)


def fetch_lua(folder: Path) -> None:
    """Lua's source needs a header that Debian's own build makes."""
    fetch("lua5.4")(folder)
    (folder / "src/lua5.4-deb-multiarch.h").write_text(_MULTIARCH)


def fetch_lua_with_tests(folder: Path) -> None:
    """Debian leaves Lua's tests out; the source of the Python package lupa has them."""
    download = ["pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", *download, "-d", scratch, "lupa==2.0"]
        subprocess.run(command, check=True, capture_output=True)
        (archive,) = Path(scratch).glob("*.tar.gz")
        shutil.unpack_archive(archive, scratch, filter="data")
        (source,) = Path(scratch).glob("*/third-party/lua54")
        shutil.move(source, folder)


def fetch_sqlite(folder: Path) -> None:
    """SQLite is measured as its users compile it: as one file."""
    fetch("sqlite3")(folder)
    for command in (["./configure"], ["make", "sqlite3.c", "shell.c"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def copy_trees(folder: Path) -> None:
    """Our own program, which is nothing but allocation."""
    folder.mkdir()
    shutil.copy(PROGRAMS / "binary_trees.c", folder)


SOURCES = (
    Source("gzip", fetch("gzip"), "$SOURCE/configure && make", "gzip"),
    Source(
        "bzip2",
        fetch("bzip2"),
        "cp $SOURCE/*.[ch] . && for i in blocksort huffman crctable randtable compress "
        "decompress bzlib bzip2; do $CC $CFLAGS -c $i.c || exit; done; "
        "$CC $CFLAGS *.o -o bzip2",
        "bzip2",
    ),
    Source(
        "sqlite",
        fetch_sqlite,
        "cd $SOURCE && for i in sqlite3 shell; do $CC $CFLAGS -DSQLITE_THREADSAFE=0 "
        "-DSQLITE_OMIT_LOAD_EXTENSION -c $i.c -o $OLDPWD/$i.o || exit; done; "
        "cd $OLDPWD && $CC $CFLAGS *.o -o sqlite3 -lm",
        "sqlite3",
        ("tcl",),
    ),
    Source("mawk", fetch("mawk"), "cp -a $SOURCE/. . && ./configure && make", "mawk"),
    Source(
        "binary-trees",
        copy_trees,
        "$CC $CFLAGS $SOURCE/binary_trees.c -o binary_trees",
        "binary_trees",
    ),
    Source(
        "lua",
        fetch_lua,
        "cp $SOURCE/src/*.[ch] . && rm luac.c && for i in *.c; do $CC $CFLAGS "
        "-DLUA_USE_LINUX -c $i || exit; done; $CC $CFLAGS *.o -o lua -lm -ldl -Wl,-E",
        "lua",
    ),
)


def script_environment(
    source: Source, build: Build, folder: Path
) -> tuple[tuple[str, str], ...]:
    """The variables that a build script reads, for sources below a folder."""
    return (
        ("CC", build.compiler),
        ("CFLAGS", " ".join(build.flags)),
        ("SOURCE", str(folder / source.name)),
        ("PATH", os.environ["PATH"]),
        ("ASAN_OPTIONS", "detect_leaks=0"),
        ("LSAN_OPTIONS", "detect_leaks=0"),
    )
