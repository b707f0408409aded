"""`leakline check` on files, compile databases and builds, and on what goes wrong."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

LEAKY = """
#include <stdlib.h>
int early_return_bad(int n)
{
    char *p = malloc(8);
    if (!p)
        return -1;
    if (n > 3)
        return 1;
    free(p);
    return 0;
}
"""
CLEAN = """
#include <stdlib.h>
int freed_ok(int n)
{
    char *p = malloc(8);
    if (!p)
        return -1;
    p[0] = n;
    n = p[0];
    free(p);
    return n;
}
"""
BROKEN = "int broken(void) { return }\n"


@dataclass(frozen=True)
class Checked:
    """A finished check: its exit code and what it wrote."""

    code: int
    stdout: str
    stderr: str

    def report(self) -> dict[str, Any]:
        """The JSON report on standard output."""
        report: dict[str, Any] = json.loads(self.stdout)
        return report

    def functions(self) -> set[str]:
        """Functions that allocate what is lost."""
        return {
            finding["allocation"]["frames"][0]["function"]
            for finding in self.report()["findings"]
        }


Check = Callable[..., Checked]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty folder to work in, apart from the cache."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def check(tmp_path: Path, project: Path) -> Check:
    """Runs `leakline check` in the project with a cache of its own."""

    def run(*words: str | Path, env: dict[str, str] | None = None) -> Checked:
        done = subprocess.run(
            [sys.executable, "-m", "leakline", "check", *words],
            cwd=project,
            env={
                **os.environ,
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
                **(env or {}),
            },
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Checked(done.returncode, done.stdout, done.stderr)

    return run


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / (f"{stem}.{suffix}" if stem else name)
        path.write_text(text)


def test_a_leak_is_shown_with_its_path(project: Path, check: Check) -> None:
    write(project, a_c=LEAKY)
    checked = check("a.c")
    assert checked.code == 23
    assert checked.stderr == ""
    first, *rest = checked.stdout.splitlines()
    assert first.startswith("a.c:9:9: leak: 8 bytes allocated in early_return_bad()")
    assert any("a.c:5:15: allocated here" in line for line in rest)
    assert "return 1;" in checked.stdout
    assert "1 of 1 function fully analysed." in rest[-1]


def test_clean_code_is_called_clean(project: Path, check: Check) -> None:
    write(project, a_c=CLEAN)
    checked = check("a.c")
    assert (checked.code, checked.stderr) == (0, "")
    assert checked.stdout.startswith("No leaks found.\n")


def test_json_has_the_pinned_shape(project: Path, check: Check) -> None:
    write(project, a_c=LEAKY)
    report = check("--format", "json", "a.c").report()
    assert report["schema"] == "leakline/1"
    assert report["run"]["lenses"] == {"static": "active"}
    assert report["run"]["coverage"]["functions"] == 1
    finding = report["findings"][0]
    assert (finding["kind"], finding["engines"]) == ("lost", ["static"])
    assert finding["path"][0]["file"] == "a.c"
    assert finding["loss"]["cause"] == "out-of-scope"
    assert finding["last_access"] is None


def test_sarif_is_written_to_a_file(project: Path, check: Check) -> None:
    write(project, a_c=LEAKY)
    checked = check("--format", "sarif", "--report-file", "out.sarif", "a.c")
    assert (checked.code, checked.stdout) == (23, "")
    document = json.loads((project / "out.sarif").read_text())
    assert document["runs"][0]["results"][0]["codeFlows"]


def test_a_database_says_how_to_compile(project: Path, check: Check) -> None:
    write(project, a_c=f"#ifdef WANTED\n{LEAKY}\n#endif\n")
    entry = {"directory": str(project), "command": "cc -DWANTED -O3 -c a.c"}
    (project / "compile_commands.json").write_text(json.dumps([entry]))
    assert check("--format", "json", ".").functions() == {"early_return_bad"}
    assert check("--format", "json", "a.c").functions() == {"early_return_bad"}


def test_macros_and_headers_can_be_given(project: Path, check: Check) -> None:
    (project / "inc").mkdir()
    write(project / "inc", leaky_h=LEAKY)
    write(project, a_c='#ifdef WANTED\n#include "leaky.h"\n#endif\n')
    checked = check("-I", "inc", "-D", "WANTED", "--format", "json", "a.c")
    assert checked.functions() == {"early_return_bad"}


MAKEFILE = """
all: one two
one: one.o make.o generated.o
\tgcc -o $@ $^
two: two.o make.o generated.o
\tgcc -o $@ $^
generated.c:
\techo 'int generated(int n) { return n; }' > $@
%.o: %.c
\tgcc -O2 -Wall -fno-tree-vectorize -c -o $@ $<
"""


def test_a_build_is_watched_and_programs_kept_apart(
    project: Path, check: Check
) -> None:
    user = """
    #include <stdlib.h>
    char *make(void);
    int generated(int n);
    static int use(int n) { char *p = make(); if (n) { %s return 1; } free(p); return 0; }
    int main(int n, char **v) { return use(generated(n)); }
    """
    write(
        project,
        Makefile=MAKEFILE,
        make_c="#include <stdlib.h>\nchar *make(void) { return malloc(3); }\n",
        one_c=user % "",
        two_c=user % "free(p);",
    )
    checked = check("--format", "json", "--", "make", "-j2")
    assert checked.code == 23
    report = checked.report()
    assert report["run"]["coverage"]["units"] == 4
    assert report["run"]["not_seen"] == []
    lost_in = [finding["path"][-1]["file"] for finding in report["findings"]]
    assert lost_in == ["one.c"]


def test_a_failed_target_does_not_hide_the_others(project: Path, check: Check) -> None:
    makefile = "all: a.o b.o\n%.o: %.c\n\tcc -c $<\n"
    write(project, Makefile=makefile, a_c=LEAKY, b_c=BROKEN)
    checked = check("--format", "json", "--", "make", "-k")
    assert checked.code == 23
    assert checked.functions() == {"early_return_bad"}
    unseen = " ".join(checked.report()["run"]["not_seen"])
    assert "b.c could not be analysed: expected expression" in unseen
    assert "ended with status 2" in unseen


def test_not_looking_is_not_the_same_as_finding_nothing(
    project: Path, check: Check
) -> None:
    write(project, a_c=CLEAN, b_c=BROKEN)
    assert check("a.c").code == 0
    both = check("a.c", "b.c")
    assert both.code == 6
    assert "b.c could not be analysed" in both.stdout
    alone = check("b.c")
    assert (alone.code, alone.stdout) == (6, "")
    assert alone.stderr.count("\n") == 1


def test_a_missing_header_is_named(project: Path, check: Check) -> None:
    write(project, a_c='#include "gone.h"\n')
    checked = check("a.c")
    assert checked.code == 6
    assert "'gone.h' file not found" in checked.stderr


def test_a_crash_of_the_compiler_concerns_one_unit(
    project: Path, tmp_path: Path, check: Check
) -> None:
    write(project, a_c=LEAKY, crash_c=CLEAN)
    clang = tmp_path / "clang"
    clang.write_text(
        '#!/bin/sh\ncase "$*" in *crash.c*) kill -SEGV $$ ;; esac\nexec clang-19 "$@"\n'
    )
    clang.chmod(0o755)
    checked = check("--clang", clang, "--format", "json", "a.c", "crash.c")
    assert checked.functions() == {"early_return_bad"}
    assert "clang crashed (SIGSEGV)" in checked.report()["run"]["not_seen"][0]


def with_z3(folder: Path, text: str) -> dict[str, str]:
    """An environment in which the solver is a module with this text."""
    (folder / "z3.py").write_text(text)
    found = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), found)))}


def test_a_crash_of_the_solver_is_not_the_same_as_finding_nothing(
    project: Path, tmp_path: Path, check: Check
) -> None:
    write(project, a_c=LEAKY, b_c=CLEAN)
    checked = check("a.c", "b.c", env=with_z3(tmp_path, "import os\nos.abort()\n"))
    assert (checked.code, checked.stderr) == (6, "")
    assert "early_return_bad (a.c:3) could not be checked: the solver" in checked.stdout
    assert "freed_ok" not in checked.stdout
    assert check("a.c", "b.c").code == 23


def test_a_huge_function_is_passed_over_in_a_sentence(
    project: Path, check: Check
) -> None:
    lines = "\n".join(f"    v[{n % 64}] += {n};" for n in range(125_000))
    write(project, huge_c=f"void huge(int *v) {{\n{lines}\n}}\n", a_c=CLEAN)
    checked = check("huge.c", "a.c")
    assert checked.code == 6
    assert re.search(
        r"huge \(huge.c:1\) could not be checked: it has 5\d\d,\d{3} "
        "instructions",
        checked.stdout,
    )
    assert "Checked 2 units: 1 of 2 functions" in checked.stdout


def test_a_killed_worker_is_said_in_a_sentence(
    project: Path, tmp_path: Path, check: Check
) -> None:
    many = [LEAKY.replace("early", f"early{n}") for n in range(400)]
    write(project, a_c="".join(many))
    kill = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.abort()\n"
    checked = check("-j", "2", "a.c", env=with_z3(tmp_path, kill))
    assert (checked.code, checked.stdout) == (6, "")
    assert "a process that analyses was killed" in checked.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ([], 2, "name what to check"),
        (["--"], 2, "name the build command"),
        (["a.c", "--", "make"], 2, "not both"),
        (["gone.c"], 6, "there is no file gone.c"),
        (["empty"], 6, "holds no compile_commands.json"),
        (["damaged"], 6, "is not valid JSON"),
        (["notes.txt"], 6, "is not a C or C++ source"),
        (["--", "true"], 6, "compiled no C or C++ source"),
        (["--", "no-such-command"], 6, "cannot be started"),
        (["--clang", "/no/clang", "a.c"], 6, "is not a clang"),
        (["--model", "gone.models", "a.c"], 6, "gone.models"),
        (["--baseline", "gone.json", "a.c"], 4, "gone.json"),
        (["--suppressions", "gone.supp", "a.c"], 5, "gone.supp"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_mistakes_are_answered_in_a_sentence(
    project: Path, check: Check, words: list[str], code: int, why: str
) -> None:
    write(project, a_c=CLEAN, notes_txt="x")
    (project / "empty").mkdir()
    (project / "damaged").mkdir()
    (project / "damaged" / "compile_commands.json").write_text("[{")
    checked = check(*words)
    assert (checked.code, checked.stdout) == (code, "")
    assert why.casefold() in checked.stderr.casefold()
    assert "Traceback" not in checked.stderr


def test_a_baseline_keeps_quiet_about_what_is_known(
    project: Path, check: Check
) -> None:
    write(project, a_c=LEAKY)
    assert check("--format", "json", "--report-file", "old.json", "a.c").code == 23
    moved = "\n\n\n" + LEAKY
    write(project, a_c=moved)
    assert check("--baseline", "old.json", "a.c").code == 0
    write(project, a_c=moved + LEAKY.replace("early_return", "second"))
    news = check("--baseline", "old.json", "--format", "json", "a.c")
    assert news.code == 23
    assert news.functions() == {"second_bad"}


def test_a_suppression_hides_a_finding(project: Path, check: Check) -> None:
    write(project, a_c=LEAKY, quiet_supp="leak:early_return_bad\n")
    checked = check("--suppressions", "quiet.supp", "a.c")
    assert checked.code == 0
    assert "1 finding suppressed" in checked.stdout


def test_a_second_check_reads_no_source_again(
    project: Path, tmp_path: Path, check: Check
) -> None:
    write(project, a_c=LEAKY)
    first = check("--format", "json", "a.c")
    facts = {path: path.stat().st_ino for path in (tmp_path / "cache").rglob("*.facts")}
    assert facts
    again = check("--format", "json", "a.c")
    assert again.report()["findings"] == first.report()["findings"]
    assert facts == {path: path.stat().st_ino for path in facts}


def test_without_a_cache_nothing_is_kept(
    project: Path, tmp_path: Path, check: Check
) -> None:
    write(project, a_c=LEAKY)
    assert check("--no-cache", "a.c").code == 23
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_findings_do_not_depend_on_the_number_of_jobs(
    project: Path, check: Check, jobs: str
) -> None:
    for number in range(6):
        write(project, **{f"u{number}_c": LEAKY.replace("early", f"early{number}")})
    names = [f"u{number}.c" for number in range(6)]
    report = check("--format", "json", "-j", jobs, *names).report()
    files = [finding["path"][-1]["file"] for finding in report["findings"]]
    assert files == names
