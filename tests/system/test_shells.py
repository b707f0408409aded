"""Completions in real shells, and the manual page in a real formatter."""

import os
import subprocess
from pathlib import Path

import pytest

from leakline.cli.main import COMMANDS

from .command import leakline

COMPLETE = """\
source /dev/stdin <<'END'
{script}
END
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ :; }}
_leakline
echo "${{COMPREPLY[@]}}"
"""


def completed(shell: str, words: str) -> list[str]:
    """What the shell offers for the last word."""
    script = leakline("integrate", "bash").stdout
    done = subprocess.run(
        [shell],
        input=COMPLETE.format(script=script, words=words),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("leakline sn", ["snapshot"]),
        ("leakline run --basel", ["--baseline"]),
        ("leakline report x --format valgr", ["valgrind-xml"]),
        ("leakline integrate -", ["-h", "--help"]),
        ("leakline run -- prog --for", []),
        ("leakline run --report-file x", []),
    ],
)
def test_bash_completes_commands_options_and_values(
    words: str, expected: list[str]
) -> None:
    assert completed("bash", words) == expected


def test_zsh_takes_its_script() -> None:
    script = leakline("integrate", "zsh").stdout
    load = (
        f"autoload -U compinit; compinit -u -D; {script}; print $+functions[_leakline]"
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", load], check=True, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def offered_by_fish(words: str, home: Path) -> list[str]:
    """What fish offers for the last word, without descriptions."""
    script = leakline("integrate", "fish").stdout
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{words}'"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("leakline sn", ["snapshot"]),
        ("leakline run --basel", ["--baseline"]),
        ("leakline report x --format valgr", ["valgrind-xml"]),
        ("leakline diff --raw", []),
    ],
)
def test_fish_completes_commands_options_and_values(
    words: str, expected: list[str], tmp_path: Path
) -> None:
    assert offered_by_fish(words, tmp_path) == expected


def test_fish_offers_every_command(tmp_path: Path) -> None:
    assert set(COMMANDS) <= set(offered_by_fish("leakline ", tmp_path))


def test_the_manual_page_is_well_formed_and_names_every_option() -> None:
    page = leakline("integrate", "man").stdout
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", "-P-cbou"],
        input=page,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    for words in ("leakline run", "leakline explain", "--gen-suppressions", "23"):
        assert words in text
