"""What all tests share: options, folders, signals, and a runner of GitHub's workflows.

Property tests try the same examples every time, so that a change is judged by what it
changed; `pytest --hypothesis-profile=random` draws new ones.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No judgement by the clock: machines are slow and busy at times.
settings.register_profile(
    "random", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "repeatable", settings.get_profile("random"), derandomize=True
)
settings.load_profile("repeatable")

ACT = Path(sys.executable).parent / "act"
# Where act keeps what it copies, and its settings.
FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")


def pytest_configure() -> None:
    # Runners in the background, or below nohup, ignore these, and programs inherit it.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the code prints now into tests/golden/expected",
    )


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run that all its workers share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture
def act(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Any]]:
    """Return a function that runs the workflows of a folder by act, on this machine.

    act is a runner of workflows that others wrote. What it returns are the events that
    it logs; those with a `command` are workflow commands, as it read them.
    """
    home = tmp_path_factory.mktemp("act")

    def run(folder: Path, *options: str, **environment: str) -> list[Any]:
        words = [str(ACT), "push", "--json", "--platform", "ubuntu-latest=-self-hosted"]
        done = subprocess.run(
            [*words, *options],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            cwd=folder,
            env={**os.environ, **dict.fromkeys(FOLDERS, str(home)), **environment},
        )
        lines = done.stdout.splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    return run
