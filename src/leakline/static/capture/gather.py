"""Gathers the facts of all units of a build, from the cache where they still hold."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from leakline.static.capture.command import Build, Compilation
from leakline.static.capture.facts_cache import FactsCache
from leakline.static.capture.links import link_units
from leakline.static.capture.replay import extract
from leakline.static.capture.toolchain import Toolchain
from leakline.static.facts import Unit
from leakline.static.facts_reader import FactsError, parse_facts, read_facts
from leakline.static.linking import LinkUnit


@dataclass(frozen=True, slots=True)
class Gathered:
    """Units, how they are linked, and one sentence for each source without facts.

    Attributes:
        reused: Units whose facts came from the cache.
    """

    units: tuple[Unit, ...]
    links: tuple[LinkUnit, ...]
    failures: tuple[str, ...]
    reused: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    compilation: Compilation
    unit: Unit | None
    failure: str = ""
    reused: bool = False


class Gatherer:
    """Compiles sources on `jobs` threads; `advance` is called after each."""

    def __init__(
        self,
        toolchain: Toolchain,
        cache: FactsCache | None,
        jobs: int,
        advance: Callable[[], None],
    ) -> None:
        self._toolchain = toolchain
        self._cache = cache
        self._jobs = jobs
        self._advance = advance

    def gather(self, build: Build) -> Gathered:
        """Gather all units; a source that fails does not stop the others."""
        with ThreadPoolExecutor(self._jobs) as pool:
            outcomes = list(pool.map(self._one, build.compilations))
        units, numbers = _distinct(outcomes)
        return Gathered(
            units=units,
            links=link_units(build.links, numbers) if build.links else (),
            failures=tuple(o.failure for o in outcomes if o.failure),
            reused=sum(o.reused for o in outcomes),
        )

    def _one(self, compilation: Compilation) -> _Outcome:
        outcome = self._cached(compilation) or self._compiled(compilation)
        self._advance()
        return outcome

    def _cached(self, compilation: Compilation) -> _Outcome | None:
        if self._cache is None:
            return None
        path = self._cache.find(self._request(compilation))
        if path is None:
            return None
        try:
            return _Outcome(compilation, read_facts(path), reused=True)
        except FactsError:
            return None

    def _compiled(self, compilation: Compilation) -> _Outcome:
        name = compilation.source_path
        with tempfile.TemporaryDirectory(prefix="leakline-") as work:
            extraction = extract(compilation, self._toolchain, Path(work))
        if extraction.failure:
            failure = f"{name} could not be analysed: {extraction.failure}."
            return _Outcome(compilation, None, failure)
        try:
            unit = parse_facts(extraction.facts, f"of {name}")
        except FactsError as error:
            return _Outcome(compilation, None, f"{name} could not be analysed: {error}")
        if self._cache is not None and extraction.files:
            request = self._request(compilation)
            self._cache.store(request, extraction.files, extraction.facts)
        return _Outcome(compilation, unit)

    def _request(self, compilation: Compilation) -> str:
        words = (
            self._toolchain.identity,
            str(compilation.directory),
            compilation.source,
            *compilation.flags,
        )
        text = "\0".join(words).encode(errors="surrogateescape")
        return hashlib.blake2b(text, digest_size=20).hexdigest()


def _distinct(
    outcomes: Iterable[_Outcome],
) -> tuple[tuple[Unit, ...], dict[Path, int]]:
    """Units without repeats, and the unit number of each object.

    Libtool compiles a source twice, for archive and shared library; what comes out
    equal counts once.
    """
    numbers: dict[Path, int] = {}
    by_content: dict[tuple[str, bytes], int] = {}
    units: list[Unit] = []
    for outcome in outcomes:
        if outcome.unit is None:
            continue
        number = by_content.setdefault(_content(outcome.unit), len(units))
        if number == len(units):
            units.append(outcome.unit)
        numbers[outcome.compilation.output] = number
    return tuple(units), numbers


def _content(unit: Unit) -> tuple[str, bytes]:
    digest = hashlib.blake2b(digest_size=20)
    for name, function in unit.functions.items():
        digest.update(name.encode(errors="surrogateescape") + b"\0")
        digest.update(function.encoded_body)
    return unit.files[0], digest.digest()
