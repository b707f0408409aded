"""`python -m benchmarks.suites`: the tests of real programs, built by `leakline cc`.

Programs are built from Debian's sources, and their own tests run under `leakline run`
with lens `loss`, children included. What the tests say is printed and kept beside what
the same tests say of the program that the plain compiler makes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compiled import LEAKLINE_CC, LEAKLINE_CXX
from benchmarks.debian_sources import fetch, fetch_lua_with_tests
from leakline.compile.compiler import find_compiler

ROOT = Path(__file__).parent.parent
LEAKLINE = Path(sys.executable).parent / "leakline"
RESULTS = Path(__file__).parent / "results/suites.json"
TIME_LIMIT_S = 3600
SQLITE_TESTS = (
    "select1 select2 select3 select4 select5 select6 select7 insert insert2 insert3 "
    "update delete delete2 join join2 where where2 index index2 trans trans2 trigger1 "
    "trigger2 view vacuum alter attach autoinc between blob capi2 cast collate1 "
    "distinct expr func in lastinsert like limit minmax null pragma quote rowid sort "
    "subquery temptable types unique vtab1 with1 window1 fts3aa json101 malloc5"
)
# What tests call their results, and what it means.
VERDICTS = {
    "PASS": "passed",
    "SKIP": "skipped",
    "XFAIL": "failed as expected",
    "FAIL": "failed",
    "XPASS": "failed",
    "ERROR": "failed",
    "expected passes": "passed",
    "unexpected failures": "failed",
    "expected failures": "failed as expected",
    "unsupported tests": "skipped",
}
AUTOMAKE = re.compile(r"^# (PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$", re.MULTILINE)
# The log of a suite with failures, which is shown before the summary, opens with the
# same counts.
AUTOMAKE_LOG = re.compile(
    r"^ +\S.*test-suite\.log\n=+\n\n(?:# [A-Z]+: +\d+\n)+", re.MULTILINE
)
DEJAGNU = re.compile(r"^# of ([a-z ]+?)\s+(\d+)$", re.MULTILINE)
SQLITE = re.compile(r"^(\d+) errors out of (\d+) tests", re.MULTILINE)
CTEST = re.compile(
    r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$", re.MULTILINE
)
LUA_FILE = re.compile(r"^\*{5} FILE '.+'\*{5}$", re.MULTILINE)
LUA_END = "final OK !!!"


@dataclass(frozen=True, slots=True)
class Suite:
    """A program with tests of its own.

    Attributes:
        prepare: Gets the sources ready in a folder of their own.
        build: Builds it in an empty folder; $CC, $CXX and $SOURCE are set.
        test: Runs the tests there.
        packages: Debian packages that both need.
    """

    name: str
    prepare: Callable[[Path], None]
    build: str = "$SOURCE/configure && make"
    test: str = "make -k check"
    packages: tuple[str, ...] = ()


CMAKE = "cmake $SOURCE -G Ninja -DCMAKE_BUILD_TYPE= "
CMAKE_PACKAGES = ("cmake", "ninja-build")

SUITES = (
    Suite("gzip", fetch("gzip")),
    Suite("grep", fetch("grep"), packages=("libpcre2-dev",)),
    Suite("diffutils", fetch("diffutils")),
    Suite(
        "findutils",
        fetch("findutils"),
        # The source comes without a part of its build system.
        "cp -r $SOURCE/. . && autoreconf -fi && ./configure && make",
        packages=("autoconf", "automake", "autopoint", "bison", "dejagnu", "texinfo"),
    ),
    Suite(
        "sqlite",
        fetch("sqlite3"),
        "$SOURCE/configure && make testfixture",
        f"for i in {SQLITE_TESTS}; do ./testfixture $SOURCE/test/$i.test; done",
        ("tcl", "tcl-dev"),
    ),
    Suite(
        "lua",
        fetch_lua_with_tests,
        "cp -r $SOURCE/. . && rm onelua.c && for i in *.c; do $CC $CFLAGS "
        "-DLUA_USE_LINUX -c $i || exit; done; $CC *.o -o lua -lm -ldl -Wl,-E",
        "cd testes && ../lua -e _U=true all.lua",
    ),
    Suite(
        "leveldb",
        fetch("leveldb"),
        f"{CMAKE} -DLEVELDB_BUILD_BENCHMARKS=OFF && ninja",
        "ctest",
        (*CMAKE_PACKAGES, "libgtest-dev", "libgmock-dev", "libbenchmark-dev"),
    ),
    Suite("fmt", fetch("fmtlib"), f"{CMAKE} && ninja", "ctest", CMAKE_PACKAGES),
    Suite(
        "ninja",
        fetch("ninja-build"),
        f"{CMAKE} && ninja",
        "ctest",
        (*CMAKE_PACKAGES, "libgtest-dev"),
    ),
)


def main() -> int:
    """Run the suites that are asked for; fail when one has more failures than plain."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suites", description=__doc__
    )
    names = [suite.name for suite in SUITES]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keeps what is built there")
    arguments = parser.parse_args()
    worse = []
    with tempfile.TemporaryDirectory(prefix="leakline-suites-") as scratch:
        folder = arguments.folder or Path(scratch)
        for suite in SUITES:
            if arguments.names and suite.name not in arguments.names:
                continue
            results = _compared(suite, folder)
            _keep(suite.name, results)
            print(_sentence(suite.name, results), flush=True)
            if results["leakline cc"]["failed"] > results["plain"]["failed"]:
                worse.append(suite.name)
    return 1 if worse else 0


def _compared(suite: Suite, folder: Path) -> dict[str, Counter[str]]:
    """What the tests say of the program as it is, and of the watched one."""
    script = ROOT / "tools/install_packages.sh"
    subprocess.run([script, "dpkg-dev", *suite.packages], check=True)
    source = folder / suite.name
    if not source.exists():
        suite.prepare(source)
    report = str(folder / f"{suite.name}.txt")
    options = ("--lens", "loss", "--error-exitcode", "0", "--report-file", report)
    watching = (str(LEAKLINE), "run", *options, "--")
    plain = (find_compiler("clang").path, find_compiler("clang++").path)
    own = (str(LEAKLINE_CC), str(LEAKLINE_CXX))
    return {
        "plain": _tested(suite, source, plain, ()),
        "leakline cc": _tested(suite, source, own, watching),
    }


def _tested(
    suite: Suite, source: Path, compilers: tuple[str, str], watching: tuple[str, ...]
) -> Counter[str]:
    """Build the program with compilers of C and C++; return what its tests say."""
    compiler, cxx_compiler = compilers
    target = source.parent / f"{suite.name}-{Path(compiler).name}"
    target.mkdir()
    environment = {
        **os.environ,
        "CC": compiler,
        "CXX": cxx_compiler,
        "CFLAGS": "-O2 -g -w",
        "CXXFLAGS": "-O2 -g -w",
        "SOURCE": str(source),
        "FORCE_UNSAFE_CONFIGURE": "1",
    }
    _run(("sh", "-c", suite.build), target, environment).check_returncode()
    tests = _run((*watching, "sh", "-c", suite.test), target, environment)
    (target / "tests.log").write_text(tests.stdout)
    return tally(tests.stdout)


def _run(
    command: tuple[str, ...], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIME_LIMIT_S,
    )


def tally(output: str) -> Counter[str]:
    """Count the verdicts in what tests printed, by any of the frameworks."""
    verdicts = Counter[str]()
    for word, number in (
        *AUTOMAKE.findall(AUTOMAKE_LOG.sub("", output)),
        *DEJAGNU.findall(output),
    ):
        if word in VERDICTS:
            verdicts[VERDICTS[word]] += int(number)
    for errors, tests in SQLITE.findall(output):
        verdicts["failed"] += int(errors)
        verdicts["passed"] += int(tests) - int(errors)
    for failed, tests in CTEST.findall(output):
        verdicts["failed"] += int(failed)
        verdicts["passed"] += int(tests) - int(failed)
    # Lua's tests stop at the first file that fails.
    if files := len(LUA_FILE.findall(output)):
        stopped = int(LUA_END not in output)
        verdicts["failed"] += stopped
        verdicts["passed"] += files - stopped
    return verdicts


def _keep(name: str, results: dict[str, Counter[str]]) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[name] = results
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def _sentence(name: str, results: dict[str, Counter[str]]) -> str:
    parts = [
        f"{way}: " + ", ".join(f"{number} {word}" for word, number in counts.items())
        for way, counts in results.items()
    ]
    return f"{name}: " + "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
