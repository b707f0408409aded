"""The ways to run a workload: plain, under Leakline, and under each peer."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leakline.cli.environment import runtime_library
from leakline.patching.missing import missing_plans
from leakline.patching.plans import plan_folder, prepare
from leakline.recording.create import create_recording

# LeakSanitizer crashes in programs whose first allocation comes from the loader.
EARLY_ALLOCATION = """
#include <stdlib.h>
__attribute__((constructor)) static void allocate(void) { free(malloc(1)); }
"""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How to run a command in some mode.

    Attributes:
        prefix: Words before it.
        environment: Variables added for it.
        is_inherited: Whether programs that it starts are in that mode, too.
    """

    prefix: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    is_inherited: bool = True


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to run a workload.

    Attributes:
        name: Column of the table.
        wrap: Returns the wrapping for a new run with a scratch folder.
        slow: Measured once only, since it takes many times as long.
    """

    name: str
    wrap: Callable[[Path], Wrapping]
    slow: bool = False


def plain(_folder: Path) -> Wrapping:
    """Run the program as it is."""
    return Wrapping()


def leakline(folder: Path) -> Wrapping:
    """Load the runtime as `leakline run` does; the report is measured apart."""
    recording = folder / "recording"
    recording.unlink(missing_ok=True)
    create_recording(recording)
    return Wrapping(
        environment=(
            ("LD_PRELOAD", str(runtime_library(os.environ))),
            ("LEAKLINE_OPTIONS", f"recording={recording}"),
        )
    )


def leakline_loss(folder: Path) -> Wrapping:
    """Load the runtime with lens `loss`; plans must have been made before."""
    loaded = leakline(folder)
    (preload, (name, options)) = loaded.environment
    return Wrapping(
        environment=(
            preload,
            (name, f"{options}:lens=reach,loss:plans={plan_folder()}"),
        )
    )


def leakline_pages(folder: Path) -> Wrapping:
    """Load the runtime with lens `pages` alone."""
    (preload, (name, options)) = leakline(folder).environment
    return Wrapping(environment=(preload, (name, f"{options}:lens=pages")))


def leakline_pages_unwatched(folder: Path) -> Wrapping:
    """The heap of lens `pages` without its scans: the difference is the watch."""
    (preload, (name, options)) = leakline_pages(folder).environment
    return Wrapping(environment=(preload, (name, f"{options}:scan_ms=100000000")))


def leakline_accesses(folder: Path) -> Wrapping:
    """Load the runtime with lens `accesses`; plans must have been made before."""
    (preload, (name, options)) = leakline(folder).environment
    lens = f"lens=reach,accesses:plans={plan_folder()}"
    return Wrapping(environment=(preload, (name, f"{options}:{lens}")))


def make_plans(folder: Path) -> None:
    """Make the plans that the latest run with a lens that needs them missed in a folder."""
    prepare(missing_plans(folder / "recording"))


def memcheck(_folder: Path) -> Wrapping:
    """Valgrind's leak check."""
    return Wrapping(("valgrind", "--leak-check=full", "--trace-children=yes", "-q"))


def heaptrack(folder: Path) -> Wrapping:
    """Record with heaptrack, without the analysis afterwards."""
    output = folder / "heaptrack"
    return Wrapping(("heaptrack", "--raw", "-o", str(output)), is_inherited=False)


def leak_sanitizer(folder: Path) -> Wrapping:
    """Preload gcc's LeakSanitizer with its default one- or two-frame stacks."""
    library = subprocess.run(
        ["gcc", "-print-file-name=liblsan.so"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    early = folder / "early_allocation.so"
    if not early.exists():
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", early],
            input=EARLY_ALLOCATION,
            text=True,
            check=True,
        )
    return Wrapping(
        environment=(
            ("LD_PRELOAD", f"{Path(library).resolve()}:{early}"),
            ("LSAN_OPTIONS", "exitcode=0:report_objects=0"),
        )
    )


PLAIN = Mode("plain", plain)
LEAKLINE = Mode("leakline", leakline)
LEAKLINE_LOSS = Mode("loss", leakline_loss)
LEAKLINE_ACCESSES = Mode("accesses", leakline_accesses)
LEAKLINE_PAGES = Mode("pages", leakline_pages)
LEAKLINE_PAGES_UNWATCHED = Mode("unwatched", leakline_pages_unwatched)
OWN_MODES = (
    LEAKLINE,
    LEAKLINE_LOSS,
    LEAKLINE_PAGES,
    LEAKLINE_PAGES_UNWATCHED,
    LEAKLINE_ACCESSES,
)
PEERS = (
    Mode("lsan", leak_sanitizer),
    Mode("heaptrack", heaptrack, slow=True),
    Mode("memcheck", memcheck, slow=True),
)


def available_peers() -> tuple[Mode, ...]:
    """Return the peers whose programs are installed."""
    needs = {"lsan": "gcc", "heaptrack": "heaptrack", "memcheck": "valgrind"}
    return tuple(mode for mode in PEERS if shutil.which(needs[mode.name]))
