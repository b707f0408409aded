"""Programs nobody here wrote behave the same under Leakline as without it."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.commands import COMMANDS, make_folder, run

from leakline.patching.kinds import PlanKind
from leakline.patching.plans import Wanted, modules_of, prepare

from .conftest import LEAKLINE, Outcome


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return a folder with a text file of a few thousand lines."""
    folder = tmp_path / "work"
    make_folder(folder)
    return folder


def watching(report: Path, *options: str) -> list[str]:
    """The words before a command that is to be watched and keeps its exit code."""
    words = [str(LEAKLINE), "run", *options, "--error-exitcode", "0"]
    return [*words, "--report-file", str(report), "--"]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_and_status_are_the_same(command: str, scratch: Path) -> None:
    report = scratch.parent / "report.txt"
    watched = run(watching(report), command, scratch)
    assert watched == run([], command, scratch)
    assert "lens reach" in report.read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask(port: int, request: bytes) -> bytes:
    """Send one request to a loopback server, waiting until it listens."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
                link.sendall(request)
                return link.recv(65536)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.fixture(params=["reach", "loss"])
def lens(request: pytest.FixtureRequest) -> str:
    """Return a lens; the plans that a server needs have been made by an earlier run."""
    lens: str = request.param
    if lens == "loss":
        for program in ("redis-server", "nginx"):
            path = Path(str(shutil.which(program)))
            prepare([Wanted(PlanKind.LOSS, module) for module in modules_of(path)])
    return lens


@pytest.fixture
def redis(
    scratch: Path, lens: str
) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """Start redis-server under Leakline on a free port."""
    port = free_port()
    report = scratch / "redis.json"
    options = ["--lens", lens, "--format", "json"]
    arguments = ["redis-server", "--port", str(port), "--bind", "127.0.0.1"]
    with subprocess.Popen(
        [*watching(report, *options), *arguments, "--save", ""],
        cwd=scratch,
        stdout=subprocess.DEVNULL,
    ) as server:
        yield server, port, report
        if server.poll() is None:
            server.kill()


def test_redis_serves_under_load_and_reports(
    redis: tuple[subprocess.Popen[bytes], int, Path], lens: str
) -> None:
    server, port, report = redis
    assert ask(port, b"PING\r\n") == b"+PONG\r\n"
    subprocess.run(
        ["redis-benchmark", "-p", str(port), "-q", "-n", "5000", "-c", "20"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], check=True)
    assert server.wait(120) == 0
    assert f'"{lens}": "active"' in report.read_text()


NGINX = """
daemon off; worker_processes 2; pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
"""


def test_nginx_serves_and_every_worker_reports(scratch: Path, lens: str) -> None:
    port = free_port()
    scratch.chmod(0o755)
    (scratch / "www").mkdir()
    (scratch / "www/page").write_text("hello")
    (scratch / "nginx.conf").write_text(NGINX.format(folder=scratch, port=port))
    report = scratch / "nginx.json"
    command = ["nginx", "-p", str(scratch), "-c", str(scratch / "nginx.conf")]
    with subprocess.Popen(
        [*watching(report, "--lens", lens, "--format", "json"), *command],
    ) as server:
        for _ in range(100):
            answer = ask(port, b"GET /page HTTP/1.0\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200") or b"403" in answer
        os.kill(int((scratch / "nginx.pid").read_text()), signal.SIGQUIT)
        assert server.wait(120) == 0
    assert f'"{lens}": "active"' in report.read_text()


def test_every_descendant_is_watched(
    build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    program = build("reach_references.c", "-O0")
    outcome = watch(
        [
            "sh",
            "-c",
            (
                f"{program}; {program} | cat; make -s -f - <<'E'\n"
                f"all: ; @{program} || true\nE\n"
            ),
        ]
    )
    (blocks,) = {
        finding["blocks"]
        for finding in outcome.report["findings"]
        if any(
            frame["function"] == "result_ignored_bad"
            for frame in finding["allocation"]["frames"]
        )
    }
    assert blocks == 3
