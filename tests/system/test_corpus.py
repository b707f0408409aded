"""Every program of the corpus, at -O0 and -O2, against the verdicts in its names."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Outcome

VERDICT = re.compile(r"\b(\w+_(?:bad|ok))\(")
SELF_CONTAINED = sorted(
    path.name for path in PROGRAMS.glob("reach_*.c*") if path.name != "reach_plugins.c"
)


def verdicts(source: Path) -> set[str]:
    """Return the names in a program that end in a verdict."""
    return set(VERDICT.findall(source.read_text()))


def check(source: Path, outcome: Outcome) -> None:
    names = verdicts(source)
    lost = outcome.functions("lost", "indirectly lost")
    assert names & lost == {name for name in names if name.endswith("_bad")}
    direct = outcome.functions("lost")
    assert not {name for name in direct if name.endswith("_indirect_bad")}


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("name", SELF_CONTAINED)
def test_verdicts_hold(
    name: str,
    optimisation: str,
    build: Callable[..., Path],
    watch: Callable[..., Outcome],
) -> None:
    outcome = watch([build(name, optimisation)])
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (23, "", "")
    check(PROGRAMS / name, outcome)


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_an_unloaded_plugin_is_still_named(
    optimisation: str, build: Callable[..., Path], watch: Callable[..., Outcome]
) -> None:
    plugin = build("plugin_leaky.c", optimisation, "-shared", "-fPIC")
    outcome = watch([build("reach_plugins.c", optimisation), plugin])
    check(PROGRAMS / "plugin_leaky.c", outcome)
    blocks = [finding["blocks"] for finding in outcome.report["findings"]]
    assert blocks == [3]
