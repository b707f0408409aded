"""`python -m benchmarks.stress`: nobody notices code that is armed and disarmed.

Sites are armed and disarmed at random, and pages of their stubs given back, as fast as
one thread can, while a program with threads, exceptions, signals at 1 kHz, fork, dlopen
and longjmp runs many times, a redis server answers many clients, and real commands run
once. Every output and exit status must be the plain program's.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.commands import COMMANDS, make_folder, run
from benchmarks.measure import FailedError
from benchmarks.modes import LEAKLINE_ACCESSES, Wrapping, make_plans
from benchmarks.workloads import redis
from leakline.cli.environment import runtime_library
from leakline.patching.plans import plan_folder
from leakline.recording.create import create_recording

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "tests/programs/patch_robustness.cpp"
LEAKLINE = Path(sys.executable).parent / "leakline"
RUN_LIMIT_S = 600  # the first run of a compiler plans for minutes
WAYS = {
    "accesses": "lens=reach,accesses:arm_stress=1",
    "loss,accesses": "lens=reach,loss,accesses:arm_stress=1",
    "accesses, text-poke": "lens=reach,accesses:arm_stress=1:text_poke=1",
}


def main() -> int:
    """Run, print one line for each way, and fail when anything was noticed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stress", description=__doc__
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--no-commands", action="store_true")
    arguments = parser.parse_args()
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="leakline-stress-") as scratch:
        for way, options in WAYS.items() if arguments.runs else ():
            alike = robust_runs(Path(scratch), options, arguments.runs)
            print(f"{way}: {alike} of {arguments.runs} runs alike", flush=True)
            noticed += arguments.runs - alike
        if arguments.servers:
            alike = served_runs(Path(scratch), arguments.servers)
            print(
                f"{alike} of {arguments.servers} redis servers ended well", flush=True
            )
            noticed += arguments.servers - alike
        if not arguments.no_commands:
            alike = same_commands(Path(scratch))
            print(f"{alike} of {len(COMMANDS)} commands alike", flush=True)
            noticed += len(COMMANDS) - alike
    return 1 if noticed else 0


def robust_runs(scratch: Path, options: str, runs: int) -> int:
    """Run the robust program; return how often it behaved as without Leakline."""
    program = scratch / "robust"
    if not program.exists():
        words = [
            "g++",
            "-g",
            "-O2",
            "-pthread",
            str(SOURCE),
            "-o",
            str(program),
            "-ldl",
        ]
        subprocess.run([*words, "-Wl,--build-id=sha1"], check=True)
    plain = subprocess.run([program], capture_output=True, check=True).stdout
    lenses = options.split(":", maxsplit=1)[0].removeprefix("lens=")
    for _ in range(2):  # makes the plans, also of what it loads itself
        prefix = [str(LEAKLINE), "run", "--lens", lenses, "--error-exitcode", "0"]
        subprocess.run([*prefix, "--", str(program)], capture_output=True, check=True)
    return sum(_one_run(program, scratch, options) == (0, plain) for _ in range(runs))


def _one_run(program: Path, scratch: Path, options: str) -> tuple[int, bytes]:
    recording = scratch / "recording"
    recording.unlink(missing_ok=True)
    create_recording(recording)
    done = subprocess.run(
        [program],
        env={
            **os.environ,
            "LD_PRELOAD": runtime_library(os.environ),
            "LEAKLINE_OPTIONS": f"recording={recording}:plans={plan_folder()}:{options}",
        },
        capture_output=True,
        check=False,
        timeout=RUN_LIMIT_S,
    )
    return done.returncode, done.stdout


def served_runs(scratch: Path, runs: int) -> int:
    """Let redis servers answer many clients; return how many ended as they should."""
    folder = scratch / "redis"
    folder.mkdir()
    redis(folder, LEAKLINE_ACCESSES.wrap(folder), 100)
    make_plans(folder)
    return sum(_serves(folder) for _ in range(runs))


def _serves(folder: Path) -> bool:
    (preload, (name, options)) = LEAKLINE_ACCESSES.wrap(folder).environment
    wrapping = Wrapping(environment=(preload, (name, f"{options}:arm_stress=1")))
    try:
        redis(folder, wrapping, 2_000)
    except (FailedError, subprocess.CalledProcessError) as error:
        print(error, flush=True)
        return False
    return True


def same_commands(scratch: Path) -> int:
    """Run real commands; return how many behaved as without Leakline."""
    folder = scratch / "work"
    make_folder(folder)
    os.environ["LEAKLINE_OPTIONS"] = "arm_stress=1"
    prefix = [str(LEAKLINE), "run", "--lens", "accesses", "--error-exitcode", "0"]
    prefix += ["--report-file", str(scratch / "report"), "--"]
    return sum(_is_same(prefix, command, folder) for command in COMMANDS)


def _is_same(prefix: list[str], command: str, folder: Path) -> bool:
    plain = run([], command, folder, RUN_LIMIT_S)
    # The first run makes the plans of what the command starts, for the second.
    watched = [run(prefix, command, folder, RUN_LIMIT_S) for _ in range(2)]
    is_same = all(one == plain for one in watched)
    print(f"{'same' if is_same else 'DIFFERS'}: {command!r:.100}", flush=True)
    if not is_same:
        print(f"  plain {plain}\n  under {watched}", flush=True)
    return is_same


if __name__ == "__main__":
    sys.exit(main())
