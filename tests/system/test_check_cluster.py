"""`leakline check --scheduler` on a real scheduler and workers, one of which dies."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from .conftest import PROGRAMS

SECONDS = 180


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with sources, apart from the cache."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for source in PROGRAMS.glob("static_p*.c"):
        shutil.copy(source, folder)
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts parts of a cluster, and ends them after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def worker(
    start: Callable[..., subprocess.Popen[bytes]],
) -> subprocess.Popen[bytes]:
    places = ("--scheduler-file", "scheduler.json", "--local-directory", ".")
    sizes = ("--no-nanny", "--no-dashboard", "--nthreads", "1")
    return start("worker", *places, *sizes)


def check(sources: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "leakline", "check", "--no-cache"),
            *("--format", "json", *options),
            *sorted(path.name for path in sources.iterdir()),
        ],
        cwd=sources,
        env={**os.environ, "XDG_CACHE_HOME": str(sources.parent / "cache")},
        stdout=subprocess.PIPE,
    )


def findings(done: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    output, _ = done.communicate(timeout=SECONDS)
    assert done.returncode == 23
    found: list[dict[str, Any]] = json.loads(output)["findings"]
    return found


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_worker_that_dies_changes_nothing(
    tmp_path: Path, sources: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    places = ("--scheduler-file", "scheduler.json", "--port", "0")
    start("scheduler", *places, "--host", "127.0.0.1", "--no-dashboard")
    wait_for((tmp_path / "scheduler.json").exists)
    address = json.loads((tmp_path / "scheduler.json").read_text())["address"]
    doomed = worker(start)
    with Client(address, timeout=SECONDS) as client:  # type: ignore[no-untyped-call]  # the library has no types
        client.wait_for_workers(1, SECONDS)
        doomed.send_signal(signal.SIGSTOP)
        with check(sources, "--scheduler", address) as checking:
            wait_for(lambda: any(client.processing().values()))
            worker(start)
            client.wait_for_workers(2, SECONDS)
            doomed.kill()
            shared = findings(checking)
        with check(sources) as alone:
            assert shared == findings(alone)


def test_a_scheduler_that_does_not_answer_is_named(sources: Path) -> None:
    with check(sources, "--scheduler", "tcp://127.0.0.1:9") as checking:
        output, _ = checking.communicate(timeout=SECONDS)
    assert (checking.returncode, output) == (6, b"")
