"""Linkage names as people write them: C++ and Rust.

The names come from files the user did not write, so long ones are left as they are, and
those that could grow without bound (each reference to an earlier part may double a
name) are demangled in a process of their own, with little memory and time.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable

import pycxxfilt

LENGTH_LIMIT = 4096
SHOWN_LIMIT = 4096
SAFE_REFERENCES = 24

# A file full of names made to explode costs at most this many processes.
WORKER_ATTEMPTS = 3

REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9]*_|B[0-9A-Za-z]*_")
# What compilers append to the name when they split or specialise a function.
COMPILER_COPY = re.compile(
    r"(\.(cold|part|isra|constprop|lto_priv|llvm)(\.\d+)*)+$", re.ASCII
)
RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
RUST_ESCAPE = re.compile(r"\$(u[0-9a-f]{1,6}|[A-Z]{1,2})\$")
RUST_CHARACTERS = {
    "SP": "@",
    "BP": "*",
    "RF": "&",
    "LT": "<",
    "GT": ">",
    "LP": "(",
    "RP": ")",
    "C": ",",
}

WORKER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
from leakline.symbols.demangle import demangle_one
for line in sys.stdin:
    print(demangle_one(line.rstrip("\\n")), flush=True)
"""


def demangle(symbols: Iterable[str]) -> dict[str, str]:
    """The readable name of every symbol; what is no mangled name stays as it is."""
    names = {}
    risky = []
    for symbol in set(symbols):
        if len(REFERENCE.findall(symbol[:LENGTH_LIMIT])) > SAFE_REFERENCES:
            risky.append(symbol)
        else:
            names[symbol] = demangle_one(symbol)
    return names | (_demangle_apart(sorted(risky)) if risky else {})


def demangle_one(symbol: str) -> str:
    """The readable name of a symbol, without its version and the compiler's marks."""
    name = COMPILER_COPY.sub("", symbol.partition("@")[0])
    name = name.removeprefix("__GI_")  # glibc's own alias of a function
    if len(name) > LENGTH_LIMIT or not name.startswith(("_Z", "_R", "__Z")):
        return name
    try:
        readable = pycxxfilt.demangle(name)
    except ValueError:
        return name
    if readable is None:
        return name
    return _readable_rust(readable)[:SHOWN_LIMIT]


def _readable_rust(name: str) -> str:
    """Undoes the old Rust scheme, which hides in C++ names: `a::b::h0123...`."""
    without_hash, found = RUST_HASH.subn("", name)
    if not found:
        return name
    # A part that would begin with an escape begins with an underscore instead.
    plain = without_hash.replace("::_$", "::$")
    plain = plain[1:] if plain.startswith("_$") else plain
    return RUST_ESCAPE.sub(_rust_character, plain).replace("..", "::")


def _rust_character(match: re.Match[str]) -> str:
    code = match.group(1)
    if code in RUST_CHARACTERS:
        return RUST_CHARACTERS[code]
    value = int(code[1:], 16) if code.startswith("u") else 0
    printable = value <= sys.maxunicode and chr(value).isprintable()
    return chr(value) if value and printable else match.group(0)


def _demangle_apart(symbols: list[str]) -> dict[str, str]:
    """Demangles in other processes; what one dies of keeps its linkage name."""
    names = {symbol: symbol for symbol in symbols}
    pending = [symbol for symbol in symbols if "\n" not in symbol]
    for _ in range(WORKER_ATTEMPTS):
        if not pending:
            break
        done = _run_worker(pending)
        names.update(zip(pending, done, strict=False))
        pending = pending[len(done) + 1 :]
    return names


def _run_worker(symbols: list[str]) -> list[str]:
    # -P keeps the current folder, which may be anybody's, out of the import path.
    command = [sys.executable, "-P", "-c", WORKER]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": path}
    worker = subprocess.run(
        command,
        input="\n".join(symbols),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return worker.stdout.splitlines()
