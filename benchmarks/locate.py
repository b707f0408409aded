"""`python -m benchmarks.locate`: the leak in GNU `locate` that Skiff's authors found.

Builds findutils from Debian's source with `leakline cc`, looks a name up in a small
database, and prints the report. Fails unless the loss has the variable and the chain of
callers that figure 4 of the paper shows for version 4.4.2.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.compiled import LEAKLINE_CC
from benchmarks.suites import LEAKLINE, ROOT, SUITES

PATHS = ("/names", "/names/first", "/names/second")
VARIABLE = "procdata"
CALLERS = ["search_one_database", "dolocate", "main"]


def main() -> int:
    """Build, run, compare."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.locate", description=__doc__
    ).parse_args()
    with tempfile.TemporaryDirectory(prefix="leakline-locate-") as scratch:
        target = _built(Path(scratch))
        programs = target / "locate"
        database = Path(scratch) / "database"
        _write_database(programs / "frcode", database)
        recording = Path(scratch) / "recording"
        program = ("locate/locate", "-d", database, "first")
        options = ("--report-file", os.devnull, "-o", recording, "--")
        subprocess.run([LEAKLINE, "run", *options, *program], check=False, cwd=target)
        rendering = (LEAKLINE, "report", recording, "--format")
        subprocess.run([*rendering, "text"], check=False, cwd=target)
        report = subprocess.run(
            [*rendering, "json"], check=False, cwd=target, stdout=subprocess.PIPE
        )
        found = any(map(_is_the_leak, json.loads(report.stdout)["findings"]))
    print("reported as in the paper" if found else "not reported as in the paper")
    return 0 if found else 1


def _built(folder: Path) -> Path:
    (suite,) = (suite for suite in SUITES if suite.name == "findutils")
    script = ROOT / "tools/install_packages.sh"
    subprocess.run([script, "dpkg-dev", *suite.packages], check=True)
    source = folder / suite.name
    suite.prepare(source)
    target = folder / "build"
    target.mkdir()
    environment = {
        **os.environ,
        "CC": str(LEAKLINE_CC),
        "CFLAGS": "-O2 -g -w",
        "SOURCE": str(source),
        "FORCE_UNSAFE_CONFIGURE": "1",
    }
    subprocess.run(
        ["sh", "-c", suite.build],
        cwd=target,
        env=environment,
        check=True,
        capture_output=True,
    )
    return target


def _write_database(writer: Path, database: Path) -> None:
    names = "".join(f"{path}\0" for path in PATHS)
    with database.open("wb") as file:
        subprocess.run([writer, "-0"], input=names.encode(), stdout=file, check=True)


def _is_the_leak(finding: dict[str, Any]) -> bool:
    loss = finding["loss"]
    if loss is None or loss["cause"] != "out-of-scope":
        return False
    callers = [frame["function"] for frame in loss["frames"]]
    return loss["slot"].startswith(VARIABLE) and callers[: len(CALLERS)] == CALLERS


if __name__ == "__main__":
    sys.exit(main())
