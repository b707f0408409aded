"""Real programs with inputs made here, the same on every machine."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.measure import Command, Cost, Measurement, run
from benchmarks.modes import Wrapping
from benchmarks.sources import HEADER, write_program

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = Path(__file__).parent.parent / "native"


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table.

    Attributes:
        name: As in the table.
        limit: Most CPU time that Leakline may take, as a ratio to plain.
        loss_limit: The same with lens `loss`; None where none is promised.
        measure: Runs it once in a scratch folder with a wrapping.
        packages: Debian packages it comes from.
    """

    name: str
    limit: float
    measure: Callable[[Path, Wrapping], Cost]
    packages: tuple[str, ...]
    loss_limit: float | None = None


def wrapped(command: Command, wrapping: Wrapping) -> Command:
    """Return the command as the wrapping wants it run."""
    return replace(
        command,
        arguments=wrapping.prefix + command.arguments,
        environment=command.environment + wrapping.environment,
    )


def text_file(folder: Path, size_bytes: int) -> Path:
    """Return a file of words with the letter statistics of text, always the same."""
    path = folder / f"text-{size_bytes}"
    if not path.exists():
        source = random.Random(1)  # noqa: S311 - not for secrets
        letters = "eeetttaaaooiinnsshhrrddlcumwfgypb"
        words = [
            "".join(source.choices(letters, k=source.randint(2, 11)))
            for _ in range(20_000)
        ]
        lines, size = [], 0
        while size < size_bytes:
            line = " ".join(source.choices(words, k=12)) + "\n"
            lines.append(line)
            size += len(line)
        path.write_text("".join(lines))
    return path


def simple(
    *arguments: str, stdin: str = "", size_bytes: int = 0
) -> Callable[..., Cost]:
    """Return a measure that runs one command; {text} stands for a text file."""

    def measure(folder: Path, wrapping: Wrapping) -> Cost:
        text = text_file(folder, size_bytes) if size_bytes else Path()
        words = tuple(
            word.format(text=text, programs=PROGRAMS, sources=SOURCES)
            for word in arguments
        )
        source = PROGRAMS / stdin if stdin else None
        return run(wrapped(Command(words, (), folder, source), wrapping))

    return measure


def long_source(folder: Path) -> Path:
    """Return a preprocessed file of 20,000 lines of C, always the same."""
    path = folder / "long.i"
    if not path.exists():
        program = write_program(folder / "long", 20_000)
        units = sorted(program.folder.glob("unit*.c"))
        text = "".join(unit.read_text().replace(HEADER, "") for unit in units)
        (folder / "long.c").write_text(HEADER + text)
        command = ["gcc", "-E", "-P", str(folder / "long.c"), "-o", str(path)]
        subprocess.run(command, check=True)
    return path


def compiler(folder: Path, wrapping: Wrapping) -> Cost:
    """The compiler proper of gcc, a program of 5 million instructions."""
    asking = ["gcc", "-print-prog-name=cc1"]
    done = subprocess.run(asking, check=True, capture_output=True, text=True)
    words = (done.stdout.strip(), "-quiet", "-O2", str(long_source(folder)))
    command = Command((*words, "-o", os.devnull), (), folder)
    return run(wrapped(command, wrapping))


def short_starts(folder: Path, wrapping: Wrapping) -> Cost:
    """Many short programs, each of them in the mode that is measured."""
    script = ("sh", str(PROGRAMS / "short_starts.sh"), str(PROGRAMS))
    if wrapping.is_inherited:
        return run(wrapped(Command(script, (), folder), wrapping))
    each = Wrapping(environment=(("EACH", " ".join(wrapping.prefix)),))
    return run(wrapped(Command(script, (), folder), each))


def free_port() -> int:
    """Return a loopback port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int) -> None:
    """Wait until somebody listens on a loopback port."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens on port {port}")


def quietly(command: list[str]) -> None:
    """Run a client of a measured server."""
    subprocess.run(command, check=True, capture_output=True)


def redis(folder: Path, wrapping: Wrapping, requests: int = 30_000) -> Cost:
    """redis-server under a bounded load from redis-benchmark."""
    port = str(free_port())
    server = Measurement(
        wrapped(
            Command(
                ("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", ""),
                (),
                folder,
            ),
            wrapping,
        )
    )
    wait_for_port(int(port))
    load = ["redis-benchmark", "-p", port, "-q", "-n", str(requests), "-r", "20000"]
    quietly([*load, "-t", "set,lpush,sadd,hset,lrange_300"])
    quietly(["redis-cli", "-p", port, "shutdown", "nosave"])
    return server.finish()


NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 256; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""


def nginx(folder: Path, wrapping: Wrapping, requests: int = 90_000) -> Cost:
    """A worker of nginx under a bounded load from ab.

    Nine tenths of the time are the kernel's, and differ by a tenth from run to run: so
    there are many requests.
    """
    port = free_port()
    (folder / "page.html").write_text("hello\n" * 200)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    folder.chmod(0o755)
    command = ("nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"))
    server = Measurement(wrapped(Command(command, (), folder), wrapping))
    wait_for_port(port)
    page = f"http://127.0.0.1:{port}/page.html"
    quietly(["ab", "-q", "-n", str(requests), "-c", "8", page])
    os.kill(int((folder / "nginx.pid").read_text()), signal.SIGQUIT)
    return server.finish()


WORKLOADS = (
    Workload(
        "gzip",
        1.03,
        simple("gzip", "-c", "{text}", size_bytes=24 << 20),
        ("gzip",),
        loss_limit=1.1,
    ),
    Workload(
        "bzip2",
        1.03,
        simple("bzip2", "-c", "{text}", size_bytes=12 << 20),
        ("bzip2",),
        loss_limit=1.1,
    ),
    Workload(
        "pigz",
        1.03,
        simple("pigz", "-p2", "-c", "{text}", size_bytes=24 << 20),
        ("pigz",),
    ),
    Workload("nginx", 1.03, nginx, ("nginx-light", "apache2-utils")),
    Workload(
        "perl",
        1.2,
        simple("perl", "{programs}/words.pl", "{text}", size_bytes=12 << 20),
        ("perl",),
        loss_limit=2.0,
    ),
    Workload(
        "sqlite",
        1.2,
        simple("sqlite3", stdin="queries.sql"),
        ("sqlite3",),
        loss_limit=1.7,
    ),
    Workload(
        "lua",
        1.3,
        simple("lua5.4", "{programs}/trees.lua"),
        ("lua5.4",),
        loss_limit=2.3,
    ),
    Workload(
        "cppcheck",
        1.3,
        simple("cppcheck", "-q", "-I{sources}/runtime", "-I{sources}", "{sources}"),
        ("cppcheck",),
    ),
    Workload("cc1", 1.3, compiler, ("gcc",), loss_limit=2.0),
    Workload("redis", 1.25, redis, ("redis-server",), loss_limit=1.8),
    Workload(
        "short starts",
        2.5,
        short_starts,
        ("findutils", "grep", "diffutils", "patch", "locate"),
    ),
)
