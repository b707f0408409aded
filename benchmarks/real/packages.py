"""Debian source packages that checkers are tried on: where from, and how to build."""

import os
import pickle
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apt_sources import download_command
from leakline.static.capture.command import Build
from leakline.static.capture.recorder import record_build

ROOT = Path(__file__).parents[2]
# Debian leaves out manuals under another licence, and the build stops where it would
# make them.
WITHOUT_MANUAL = "make --keep-going || true"
AUTOTOOLS = ("autoconf", "automake", "autopoint", "gettext", "libtool", "pkgconf")


@dataclass(frozen=True, slots=True)
class Package:
    """One package.

    Attributes:
        source: Name and version, as `apt-get source` takes them.
        held_out: The checker was made without looking at it; what it found there at
            first is in docs/evaluation.md.
        needed: Packages that must be installed to build it.
        configure: What to do once, in its folder.
        build: What makes its programs.
    """

    name: str
    source: str
    configure: str = "./configure -q"
    build: str = "make"
    needed: tuple[str, ...] = ()
    held_out: bool = False

    @property
    def version(self) -> str:
        """The upstream version."""
        return self.source.partition("=")[2].rpartition("-")[0]


PACKAGES = (
    Package("which", "gnu-which=2.21+dfsg-2", build=WITHOUT_MANUAL),
    Package("bzip2", "bzip2=1.0.8-5", "true", "make bzip2 bzip2recover"),
    Package("gzip", "gzip=1.12-1"),
    Package(
        "make",
        "make-dfsg=4.3-4.1",
        "autoreconf -fi; ./configure -q --without-guile",
        WITHOUT_MANUAL,
        needed=(*AUTOTOOLS, "texinfo"),
    ),
    Package(
        "wget",
        "wget=1.21.3-1+deb12u1",
        "./configure -q --with-ssl=gnutls",
        needed=(
            *("libgnutls28-dev", "libidn2-dev", "libpcre2-dev", "libpsl-dev"),
            *("pkgconf", "uuid-dev", "zlib1g-dev"),
        ),
    ),
    Package(
        "tmux",
        "tmux=3.3a-3",
        "[ -x configure ] || sh autogen.sh; ./configure -q",
        needed=(*AUTOTOOLS, "bison", "libevent-dev", "libncurses-dev"),
    ),
    Package(
        "curl",
        "curl=7.88.1-10+deb12u15",
        "autoreconf -fi && ./configure -q --with-openssl --disable-shared"
        " --without-brotli --without-zstd",
        needed=(*AUTOTOOLS, "libssl-dev", "zlib1g-dev"),
    ),
    Package("less", "less=590-2.1~deb12u2", needed=("libncurses-dev",), held_out=True),
    Package("nano", "nano=7.2-1+deb12u1", needed=("libncurses-dev",), held_out=True),
    Package(
        "patch", "patch=2.7.6-7", build="make -C lib && make -C src", held_out=True
    ),
    Package(
        "rsync",
        "rsync=3.2.7-1+deb12u6",
        "./configure -q --disable-md2man --disable-lz4 --disable-zstd --disable-xxhash",
        needed=("libssl-dev", "zlib1g-dev"),
        held_out=True,
    ),
    Package("mawk", "mawk=1.3.4.20200120-3.1", held_out=True),
    Package(
        "bc",
        "bc=1.07.1-3",
        build=WITHOUT_MANUAL,
        needed=("bison", "ed", "flex", "texinfo"),
        held_out=True,
    ),
    Package("sed", "sed=4.9-1+deb12u1", build=WITHOUT_MANUAL, held_out=True),
    Package("socat", "socat=1.7.4.4-2", needed=("libssl-dev",), held_out=True),
)


def prepare(package: Package, folder: Path) -> Path:
    """Fetch, unpack and configure a package once; return its folder."""
    place = folder / package.name
    if (place / ".configured").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    installer = ROOT / "tools/install_packages.sh"
    subprocess.run([installer, "dpkg-dev", "make", *package.needed], check=True)
    parts = folder / "fetched" / package.name
    parts.mkdir(parents=True, exist_ok=True)
    fetch = download_command(package.source)
    subprocess.run(fetch, cwd=parts, check=True, capture_output=True)
    (description,) = parts.glob("*.dsc")
    unpack = ["dpkg-source", "--no-check", "--extract", str(description), str(place)]
    subprocess.run(unpack, check=True, stdout=subprocess.DEVNULL)
    _run(package.configure, place)
    (place / ".configured").touch()
    return place


def build(package: Package, place: Path) -> Build:
    """Build a prepared package once, watched, and return what it compiled."""
    kept = place / ".leakline-build"
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="leakline-real-") as work:
            kept.write_bytes(pickle.dumps(_build(package, place, Path(work))))
    seen: Build = pickle.loads(kept.read_bytes())  # noqa: S301  # written above
    return seen


def _build(package: Package, place: Path, tools: Path) -> Build:
    records = tools / "records"
    records.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(place)
    try:
        script = f"({package.build}) > leakline-build.log 2>&1"
        status, seen = record_build(["sh", "-c", script], records, tools / "bin")
    finally:
        os.chdir(before)
    if status or not seen.compilations:
        raise RuntimeError(
            f"the build of {package.name} ended with status {status} and compiled "
            f"{len(seen.compilations)} sources"
        )
    return seen


def _run(script: str, place: Path) -> None:
    log = place / "leakline-configure.log"
    with log.open("wb") as output:
        subprocess.run(
            ["sh", "-c", script],
            cwd=place,
            check=True,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
