"""Options of Valgrind as `leakline-valgrind` understands them."""

import os

import pytest

from leakline.cli.valgrind import run_as_valgrind, translate
from leakline.errors import UsageError

CTEST = [
    *("-q", "--tool=memcheck", "--leak-check=yes", "--show-reachable=yes"),
    *("--num-callers=50", "--suppressions=a.supp", "--suppressions=b.supp"),
]


def test_what_ctest_passes_is_understood() -> None:
    options, command = translate([*CTEST, "--log-file=mc.%p.log", "./prog", "-q"])
    assert command == ["./prog", "-q"]
    assert set(options) == {
        "--error-exitcode=0",
        "--depth=50",
        "--show=all",
        "--suppressions=a.supp",
        "--suppressions=b.supp",
        "--format=memcheck",
        f"--report-file=mc.{os.getpid()}.log",
        "--no-children",
        "--quiet",
    }


def test_xml_and_kinds_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB", "7")
    options, command = translate(
        [
            *("--xml=yes", "--xml-file=%q{JOB}-%%.xml", "--show-reachable=yes"),
            *("--show-leak-kinds=definite,possible", "--trace-children=yes"),
            *("--error-exitcode=9", "--", "--odd-name"),
        ]
    )
    assert command == ["--odd-name"]
    assert set(options) == {
        "--error-exitcode=9",
        "--show=lost",
        "--format=valgrind-xml",
        "--report-file=7-%.xml",
    }


@pytest.mark.parametrize("value", ["all", "yes"])
def test_suppressions_are_written_with_the_errors(value: str) -> None:
    asked = f"--gen-suppressions={value}"
    assert "--gen-suppressions=valgrind" in translate([asked, "prog"])[0]
    options, _ = translate([asked, "--gen-suppressions=no", "prog"])
    assert not any("suppressions" in option for option in options)


def test_xml_is_never_quiet() -> None:
    assert "--quiet" not in translate(["-q", "--xml=yes", "prog"])[0]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--tool=helgrind", "prog"], "stands in for Memcheck only, not for helgrind"),
        (["--no-such-option", "prog"], "--no-such-option is no option of Memcheck"),
        (["-q"], "no program is named"),
        (["--"], "no program is named"),
    ],
)
def test_what_cannot_be_done_is_refused(words: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        translate(words)


def test_the_version_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_as_valgrind(["--version"]) == 0
    assert capsys.readouterr().out.startswith("leakline-valgrind-")
