"""Checks components on the workers of an existing Dask cluster.

The program travels once, as the result of a task that any worker can do again, so the
loss of a worker costs only what it was doing.
"""

import pickle
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from leakline.errors import CheckError
from leakline.static.component import Checker
from leakline.static.engine.function import Checked
from leakline.static.solver import Solver

if TYPE_CHECKING:
    from leakline.static.schedule import Answer, Task

_CONNECT_SECONDS = 10
# A task whose worker died is tried again so often.
_RETRIES = 5


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection to a cluster's scheduler.

    Attributes:
        executor: Runs functions on the workers.
        program: Stands for the program on the workers, as an argument of functions.
        workers: How many there are.
    """

    executor: Executor
    program: Any
    workers: int
    client: Any

    def submit(self, tasks: "list[Task]") -> "Answer":
        """Check components on some worker."""
        return self.executor.submit(check_shipped, self.program, tasks)

    def need_workers(self) -> None:
        """Say so when all of them are gone, instead of waiting for ever.

        Raises:
            CheckError: There is no worker left.
        """
        if self.client.status != "running" or not _worker_count(self.client):
            raise CheckError(
                "the cluster has no workers left; start some and try again"
            )


@contextmanager
def connected(address: str, checker: Checker) -> Iterator[Cluster]:
    """Connect to a scheduler and give it the program.

    Raises:
        CheckError: Dask is not installed, or no scheduler answers there.
    """
    client = _connect(address)
    try:
        workers = _worker_count(client)
        if not workers:
            raise CheckError(f"the scheduler at {address} has no workers")
        parts = (checker.program, checker.models, checker.options)
        program = client.submit(_Shipped, _version(), pickle.dumps(parts), pure=False)
        executor = client.get_executor(pure=False, retries=_RETRIES)
        yield Cluster(executor, program, workers, client)
    except (RuntimeError, CancelledError, _killed_worker()) as error:
        raise CheckError(
            f"the cluster at {address} could not do the work ({_first_line(error)}); "
            "see that its scheduler and workers have the same Leakline and Python"
        ) from error
    finally:
        client.close()


def _connect(address: str) -> Any:  # noqa: ANN401  # the library has no types
    try:
        from distributed import Client  # noqa: PLC0415  # an optional extra
    except ImportError as error:
        raise CheckError(
            "a cluster needs Dask; install it with pip install 'leakline[cluster]'"
        ) from error
    try:
        return Client(  # type: ignore[no-untyped-call]  # the library has no types
            address, timeout=_CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise CheckError(f"no scheduler answers at {address} ({error})") from error


def _killed_worker() -> type[Exception]:
    """What Dask raises for a task that several workers died of."""
    from distributed import KilledWorker  # noqa: PLC0415  # an optional extra

    found: type[Exception] = KilledWorker
    return found


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]


def _worker_count(client: Any) -> int:  # noqa: ANN401  # the library has no types
    return len(client.scheduler_info(n_workers=-1)["workers"])


def _version() -> str:
    return version("leakline")


@dataclass(frozen=True, slots=True)
class _Shipped:
    """A program on its way to a worker: a pickle, and who wrote it."""

    version: str
    content: bytes


def check_shipped(program: _Shipped, tasks: "list[Task]") -> list[dict[str, Checked]]:
    """Check components on a worker."""
    if program.version != _version():
        raise CheckError(
            f"a worker has Leakline {_version()}, but the check was started with "
            f"{program.version}; install the same everywhere"
        )
    checker = _unpacked(program)
    return [checker.component(ids, callees) for ids, callees in tasks]


@lru_cache(maxsize=1)
def _unpacked(program: _Shipped) -> Checker:
    """The worker's own copy of the program, with a solver of its own."""
    parts = pickle.loads(program.content)  # noqa: S301  # Dask itself sends pickles
    known, models, options = parts
    return Checker(known, models, options, Solver())
