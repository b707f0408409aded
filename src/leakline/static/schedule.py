"""Runs the components of a program, callees first, on one or several processes.

A component's result depends only on its functions and its callees' summaries, so the
findings are the same whatever the number of processes.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from leakline.errors import CheckError
from leakline.static.component import Checker
from leakline.static.engine.function import Checked
from leakline.static.engine.summary import Summary
from leakline.static.summary_cache import Kept, SummaryCache
from leakline.workers import worker_processes

Component = tuple[str, ...]
Progress = Callable[[int, int], None]
Task = tuple[Component, dict[str, Summary]]
Answer = Future[list[dict[str, Checked]]]

# Components are sent in batches of about so many instructions: a message for each
# small function would cost more than checking it.
_BATCH_INSTRUCTIONS = 4000

# After so long without any answer, those who work are asked for.
_PATIENCE_SECONDS = 20

# The worker processes' checker: they are forked from a process that has set it.
_checker: Checker | None = None


class Schedule:
    """The components in order, with what is known of each function so far."""

    def __init__(
        self, checker: Checker, cache: SummaryCache, progress: Progress
    ) -> None:
        self._checker = checker
        self._cache = cache
        self._progress = progress
        self._program = checker.program
        self.checked: dict[str, Checked] = {}
        self._digests: dict[str, bytes] = {}
        self._keys: dict[Component, bytes] = {}
        self._waiting: dict[Component, set[Component]] = {}
        self._callers: dict[Component, list[Component]] = {}
        self._ready: list[Component] = []
        self._order()

    def _order(self) -> None:
        home = {name: ids for ids in self._program.components for name in ids}
        for ids in self._program.components:
            needed = {
                home[callee] for name in ids for callee in self._program.callees(name)
            } - {ids}
            self._waiting[ids] = needed
            for other in needed:
                self._callers.setdefault(other, []).append(ids)
            if not needed:
                self._ready.append(ids)

    def run_here(self) -> None:
        """Check everything in this process."""
        while self._ready:
            ids = self._ready.pop()
            if not self._reuse(ids):
                self._finish(ids, self._checker.component(ids, self._callees(ids)))

    def run_on(
        self,
        submit: Callable[[list[Task]], Answer],
        workers: int,
        still_there: Callable[[], None] = lambda: None,
    ) -> None:
        """Check everything elsewhere.

        `submit` sends work there; `still_there` is asked from time to time, and raises
        when no answer will ever come.
        """
        running: dict[Answer, list[Component]] = {}
        while self._ready or running:
            for batch in self._batches(workers - len(running) + 2):
                tasks = [(ids, self._callees(ids)) for ids in batch]
                running[submit(tasks)] = batch
            done, _ = wait(running, _PATIENCE_SECONDS, FIRST_COMPLETED)
            if not done:
                still_there()
            for future in done:
                batch = running.pop(future)
                for ids, found in zip(batch, future.result(), strict=True):
                    self._finish(ids, found)

    def _batches(self, most: int) -> Iterator[list[Component]]:
        for _ in range(max(most, 0)):
            batch: list[Component] = []
            size = 0
            while self._ready and size < _BATCH_INSTRUCTIONS:
                ids = self._ready.pop()
                if not self._reuse(ids):
                    batch.append(ids)
                    size += self._instructions(ids)
            if not batch:
                return
            yield batch

    def _instructions(self, ids: Component) -> int:
        return sum(self._program.functions[name].function.instructions for name in ids)

    def _callees(self, ids: Component) -> dict[str, Summary]:
        return {
            callee: self.checked[callee].summary
            for name in ids
            for callee in self._program.callees(name)
            if callee in self.checked
        }

    def _reuse(self, ids: Component) -> bool:
        """Take the component's result from the cache, if it is there."""
        key = self._cache.key(self._checker, ids, self._digests)
        kept = self._cache.get(key)
        if kept is None:
            self._keys[ids] = key
            return False
        self._settle(ids, kept)
        return True

    def _finish(self, ids: Component, found: dict[str, Checked]) -> None:
        self._settle(ids, self._cache.put(self._keys.pop(ids), found))

    def _settle(self, ids: Component, kept: Kept) -> None:
        self.checked.update(kept.checked)
        self._digests.update(kept.digests)
        for caller in self._callers.get(ids, ()):
            self._waiting[caller].discard(ids)
            if not self._waiting[caller]:
                self._ready.append(caller)
        self._progress(len(self.checked), len(self._program.functions))


def _check_batch(tasks: list[Task]) -> list[dict[str, Checked]]:
    if _checker is None:
        raise RuntimeError("the worker was started without a checker")
    return [_checker.component(ids, callees) for ids, callees in tasks]


@contextmanager
def local_processes(
    checker: Checker, workers: int
) -> Iterator[Callable[[list[Task]], Answer]]:
    """Worker processes that share this process's program.

    Raises:
        CheckError: One of them was killed.
    """
    global _checker  # noqa: PLW0603  # forked processes inherit it; they get no argument
    _checker = checker
    executor = worker_processes(workers)
    try:
        yield lambda tasks: executor.submit(_check_batch, tasks)
    except BrokenProcessPool as error:
        raise CheckError(
            "a process that analyses was killed, perhaps because memory ran out; try "
            "fewer of them with -j"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)
        _checker = None
