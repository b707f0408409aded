"""`python -m benchmarks.robust`: patched programs do what they do without Leakline.

Each command runs plain and under lens `loss`: output, errors and status must be the same.
A storm of threads, exceptions, signals, loading and forks runs many times. The share of
stores that were seen is that of the process with the fewest.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.modes import leakline_loss, make_plans
from leakline.recording._format import NotSeen, NotSeenRecord
from leakline.recording.reader import Writer, open_recording

ROOT = Path(__file__).parent.parent
STORM = ROOT / "tests/programs/patch_robustness.cpp"
PACKAGES = [
    "bash",
    "binutils",
    "bzip2",
    "cmake",
    "coreutils",
    "cppcheck",
    "curl",
    "gawk",
    "gcc",
    "g++",
    "gdb",
    "git",
    "gzip",
    "jq",
    "less",
    "lua5.4",
    "make",
    "nginx-light",
    "openssl",
    "patch",
    "perl",
    "pigz",
    "python3",
    "redis-server",
    "sed",
    "sqlite3",
    "tar",
    "xz-utils",
]

# Run in a folder with `input.txt` and `unit.c`; what they print must not vary. None loads
# LLVM, as nm does where its plugin is installed: that takes minutes to plan.
COMMANDS = (
    "bash -c 'for i in {1..2000}; do a[i]=$((i * i)); done; echo ${#a[@]} ${a[1999]}'",
    "gawk '{ n[$1]++ } END { for (w in n) t += n[w]; print t }' input.txt",
    "sort -u input.txt | md5sum",
    "sed -n 's/the/THE/gp' input.txt | md5sum",
    "grep -nP 'l[aeiou]+b' input.txt | md5sum",
    "gzip -9c input.txt | md5sum",
    "bzip2 -c input.txt | bzip2 -dc | md5sum",
    "pigz -p2 -c input.txt | gzip -dc | md5sum",
    "xz -T2 -c input.txt | xz -dc | md5sum",
    "tar cJf - --mtime=2020-01-01 --owner=0 --group=0 input.txt | tar xJOf - | md5sum",
    (
        "rm -rf r && git init -q r && cd r && git config user.email a@b && git config "
        "user.name a && cp ../input.txt . && git add . && git commit -qm x && "
        "git gc -q && git fsck && git log --stat --format=%s"
    ),
    "git -C /nonexistent status",
    "openssl dgst -sha512 input.txt",
    "openssl enc -aes-256-cbc -pbkdf2 -nosalt -k x -in input.txt | md5sum",
    "openssl list -digest-algorithms | md5sum",
    "gdb -q -batch -ex 'print 6 * 7' -ex 'info line main' -ex 'ptype struct pair' unit.o",
    "cmake -P work.cmake",
    "cmake -S . -B /nonexistent/build",
    "gcc -O2 -S -o - unit.c | md5sum",
    "g++ -x c++ -O2 -S -o - - <<< '#include <map>\nstd::map<int, int> m;' | md5sum",
    "gcc -c -o x.o unit.c && readelf -SW x.o | md5sum",
    "make -f - <<< 'all: a b\na b: ; @echo $@'",
    "python3 -c 'import json, re, ast; print(len(ast.dump(ast.parse(open(re.__file__).read()))))'",
    "python3 -c 'from concurrent.futures import *; print(sum(ThreadPoolExecutor(4).map(len, [\"abc\"] * 999)))'",
    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'",
    'python3 -c \'import sqlite3; c = sqlite3.connect(":memory:"); print(c.execute("select 7").fetchall())\'',
    "perl -MData::Dumper -e '$Data::Dumper::Sortkeys = 1; print Dumper({map {$_ => [1..$_]} 1..50})' | md5sum",
    "perl -e 'local $SIG{ALRM} = sub { die \"late\\n\" }; alarm 1; 1 while 1'",
    "lua5.4 -e 't = {} for i = 1, 1e5 do t[i] = {i} end print(#t, t[777][1])'",
    (
        "sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n "
        "limit 20000) select count(*), sum(i * i % 97) from n;'"
    ),
    "jq -n '[range(5000)] | map(. * 2) | add'",
    "curl -s file://$PWD/input.txt | md5sum",
    "cppcheck -q --enable=all unit.c",
    "diff <(seq 1 500) <(seq 1 2 500) | md5sum",
    "find /usr/include -maxdepth 1 -name '*.h' | sort | md5sum",
    "timeout -s KILL 1 sleep 5",
    "redis-server --version | cut -d' ' -f1-3",
    "nginx -v",
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    status: int
    output: bytes
    errors: bytes


def run(command: list[str], folder: Path, environment: dict[str, str]) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=600,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def run_patched(command: list[str], folder: Path) -> Ended:
    """Run a command under lens `loss`."""
    return run(command, folder, dict(leakline_loss(folder).environment))


def seen(recording: Path) -> float:
    """Return the smallest share of stores, in per cent, that a process saw.

    Each library that it loaded later and that has unseen stores is told by a record of
    its own.
    """
    unseen: Counter[Writer] = Counter()
    stores: Counter[Writer] = Counter()
    with open_recording(recording) as opened:
        for writer, record in opened.records():
            if isinstance(record, NotSeenRecord) and record.reason == NotSeen.LOSSES:
                counts = re.match(
                    rb"([\d,]+) of ([\d,]+) stores run unseen", record.text
                )
                if counts:
                    unseen[writer] += int(counts[1].replace(b",", b""))
                    stores[writer] += int(counts[2].replace(b",", b""))
    return min((100 - 100 * unseen[of] / stores[of] for of in stores), default=100.0)


def is_same(command: list[str], folder: Path, runs: int) -> bool:
    """Compare a command with itself under Leakline; print a line about it."""
    plain = run(command, folder, {})
    run_patched(command, folder)
    make_plans(folder)
    same = sum(run_patched(command, folder) == plain for _ in range(runs))
    share = seen(folder / "recording")
    print(f"{same:4d} of {runs} | {share:6.2f} % | {command[-1][:90]!r}", flush=True)
    return same == runs


def prepare(folder: Path) -> Path:
    """Write what the commands read; return the storm."""
    licence = Path("/usr/share/common-licenses/GPL-3").read_text()
    (folder / "input.txt").write_text(licence * 5)
    source = "struct pair { int a, b; };\nint main(void) { struct pair p = {1, 2};\n"
    (folder / "unit.c").write_text(source + "return p.a - p.b + 1; }\n")
    (folder / "work.cmake").write_text(
        "foreach(n RANGE 500)\n  list(APPEND all ${n})\nendforeach()\n"
        'list(LENGTH all count)\nmessage("${count}")\n'
    )
    gcc = ["gcc", "-g", "-c", "unit.c", "-o", "unit.o"]
    subprocess.run(gcc, cwd=folder, check=True)
    storm = folder / "storm"
    flags = ["-std=c++17", "-g", "-O2", "-D_GNU_SOURCE", "-pthread"]
    subprocess.run(["g++", *flags, STORM, "-o", storm], check=True)
    return storm


def main() -> int:
    """Run all, and fail when anything differed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.robust", description=__doc__
    )
    parser.add_argument("--storms", type=int, default=100)
    parser.add_argument("--runs", type=int, default=2, help="of each command")
    arguments = parser.parse_args()
    script = ROOT / "tools/install_packages.sh"
    subprocess.run([script, *PACKAGES], check=True)
    with tempfile.TemporaryDirectory(prefix="leakline-robust-") as scratch:
        folder = Path(scratch)
        storm = prepare(folder)
        print("same | stores seen | command")
        results = [is_same([str(storm)], folder, arguments.storms)]
        for command in COMMANDS:
            shell = ["bash", "-c", command]
            results.append(is_same(shell, folder, arguments.runs))
    print(f"{sum(results)} of {len(results)} commands are the same")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
