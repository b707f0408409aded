"""The `leakline` command as users and scripts meet it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from .conftest import LEAKLINE

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs" / "schema" / "leakline-1.schema.json"

Build = Callable[..., Path]


def leakline(
    *words: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LEAKLINE, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )


@pytest.fixture
def leaky(build: Build) -> Path:
    return build("report_sample.c")


@pytest.fixture
def server(build: Build) -> Iterator[subprocess.Popen[str]]:
    """A `leakline run` of a program that leaks until it is ended."""
    program = str(build("leaking_server.c"))
    command = [str(LEAKLINE), "run", "--every", "0.2", "--", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.terminate()


def child_of(process: subprocess.Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return int(children.split()[0])


def test_the_programs_output_stays_clean_and_the_report_goes_to_stderr(
    leaky: Path,
) -> None:
    done = leakline("run", "--", leaky)
    assert done.stdout == "ran\n"
    assert done.stderr.startswith("Leakline  2 leaks: ")
    assert "make_item" in done.stderr
    assert "malloc(sizeof *item)" in done.stderr
    assert "Checking was active: lens reach, 1 process" in done.stderr


def test_leaks_make_a_successful_program_exit_with_23(leaky: Path) -> None:
    assert leakline("run", "--", leaky).returncode == 23
    assert leakline("run", "--error-exitcode", "7", "--", leaky).returncode == 7
    assert leakline("run", "--error-exitcode", "0", "--", leaky).returncode == 0


def test_the_exit_code_of_a_failing_program_is_its_own(leaky: Path) -> None:
    assert leakline("run", "--", leaky, "exit", "5").returncode == 5


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_dies_of_a_signal_takes_the_command_with_it(
    leaky: Path, number: signal.Signals
) -> None:
    done = leakline("run", "--", leaky, "signal", str(int(number)))
    assert done.returncode == -number
    assert "Leakline  " in done.stderr


def test_json_follows_the_published_schema(leaky: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["--format", "json", "--report-file", str(report), "--show", "all"]
    done = leakline("run", *options, "--", leaky)
    assert done.stderr == ""
    document = json.loads(report.read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["run"]["exit_code"] == 0
    assert document["run"]["command"] == [str(leaky)]
    assert {finding["kind"] for finding in document["findings"]} == {
        "lost",
        "indirectly lost",
        "reachable",
    }


def test_a_recording_is_kept_and_rendered_again(leaky: Path, tmp_path: Path) -> None:
    recording = tmp_path / "kept"
    first = leakline("run", "-o", recording, "--", leaky)
    again = leakline("report", recording)
    assert again.returncode == 0
    assert again.stdout == first.stderr
    assert leakline("report", "--error-exitcode", "9", recording).returncode == 9
    refused = leakline("run", "-o", recording, "--", leaky)
    assert refused.returncode == 4
    assert "exists already" in refused.stderr


def test_nothing_is_left_behind_without_o(leaky: Path, tmp_path: Path) -> None:
    leakline("run", "--", leaky, env={"XDG_STATE_HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_generated_suppressions_hide_the_findings(leaky: Path, tmp_path: Path) -> None:
    for kind in ("valgrind", "lsan"):
        done = leakline("run", f"--gen-suppressions={kind}", "--", leaky)
        text = done.stderr[done.stderr.index("Not freed at the last look") :]
        file = tmp_path / kind
        file.write_text(text.partition("\n")[2])
        quiet = leakline("run", "--suppressions", file, "--", leaky)
        assert quiet.returncode == 0
        assert "no leaks found" in quiet.stderr
        assert "  suppressed " in quiet.stderr


def test_unused_suppressions_are_listed(leaky: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.supp"
    file.write_text("leak:long_gone\n")
    done = leakline("run", "--suppressions", file, "--", leaky)
    assert f"leak:long_gone ({file}:1)" in " ".join(done.stderr.split())
    assert done.returncode == 23


def test_suppressions_of_the_program_itself_count(build: Build) -> None:
    done = leakline("run", "--", build("own_suppressions.c"))
    assert done.returncode == 0, done.stderr
    assert "  suppressed " in done.stderr


def test_options_come_from_the_environment_too(leaky: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.supp"
    file.write_text("leak:*\n")
    options = f"suppressions={file}:depth=1"
    done = leakline("run", "--", leaky, env={"LEAKLINE_OPTIONS": options})
    assert done.returncode == 0
    done = leakline("run", "--", leaky, env={"LEAKLINE_OPTIONS": "error_exitcode=4"})
    assert done.returncode == 4


def test_top_and_show_choose_what_is_listed(leaky: Path) -> None:
    one = leakline("run", "--top", "1", "--", leaky)
    assert "#1 " in one.stderr
    assert "#2 " not in one.stderr
    assert one.returncode == 23
    other = leakline("run", "--show", "reachable", "--", leaky)
    assert "keep_table" in other.stderr
    assert "make_item" not in other.stderr
    assert other.returncode == 23


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["run"], 2, "name the program"),
        (["run", "--unknown", "--", "true"], 2, "unrecognized arguments: --unknown"),
        (["run", "--lens", "loss", "true"], 2, "the lens loss is not in this version"),
        (["run", "--depth", "0", "true"], 2, "--depth 0 is not between 1 and 256"),
        (["run", "--show", "odd", "true"], 2, "there is no kind 'odd'"),
        (["run", "--every", "0", "true"], 2, "'0' is not a number of seconds"),
        (["run", "--gen-suppressions", "true"], 2, "with an equals sign"),
        (["run", "--error-exitcode", "256", "true"], 2, "256 is not an exit code"),
        (["run", "nothing-of-this-name"], 3, "there is no such program"),
        (["run", "./README"], 3, "./README: there is no such program"),
        (["run", "/"], 3, "/ is a folder"),
        (["run", "/etc/passwd"], 3, "permission denied"),
        (["report", "/nowhere"], 4, "cannot be opened: No such file"),
        (["report", "/dev/null"], 4, "is no regular file"),
        (["report", "/etc/passwd"], 4, "is not a recording"),
        (["run", "--suppressions", "/nowhere", "true"], 5, "cannot be read"),
        (["snapshot", "0"], 3, "there is no process 0"),
        (["snapshot", "x"], 2, "'x' is not a whole number"),
        (["frobnicate"], 2, "there is no command 'frobnicate'"),
    ],
)
def test_mistakes_get_one_sentence_and_their_own_exit_code(
    words: list[str], code: int, complaint: str, tmp_path: Path
) -> None:
    done = leakline(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert complaint in done.stderr
    assert done.stderr.startswith("leakline: ")
    assert done.stderr.count("\n") == 1


def test_a_bad_suppression_is_told_before_the_program_runs(
    leaky: Path, tmp_path: Path
) -> None:
    file = tmp_path / "bad.supp"
    file.write_text("leak:x\nwhat\n")
    done = leakline("run", "--suppressions", file, "--", leaky)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"{file}:2: expected leak:PATTERN" in done.stderr


STATE = """
import os, signal, sys
print(sys.argv[1:], os.getcwd(), oct(os.umask(0)), os.getpgrp() == os.getpgid(os.getppid()))
print(sorted(os.listdir("/proc/self/fd"))[:4], "LC_CTYPE" in os.environ)
"""


def plain(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60
    )


def test_a_program_starts_in_the_state_it_would_have_had() -> None:
    script = [sys.executable, "-c", STATE, "a b", ""]
    watched = leakline("run", "--report-file", "/dev/null", "--", *script)
    assert watched.stdout == plain(*script).stdout


def test_no_signal_is_ignored_or_blocked_that_was_not() -> None:
    command = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    watched = leakline("run", "--report-file", "/dev/null", "--", *command)
    assert watched.stdout == plain(*command).stdout


def test_the_first_argument_is_the_name_as_given() -> None:
    script = ["sh", "-c", "tr '\\0' '\\n' < /proc/$$/cmdline | head -1"]
    watched = leakline("run", "--report-file", "/dev/null", "--", *script)
    assert watched.stdout == "sh\n"


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_trouble(
    leaky: Path, closed: str, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    command = f"'{LEAKLINE}' run --report-file '{report}' -- '{leaky}' {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 23
    assert "make_item" in report.read_text()
    command = f"'{LEAKLINE}' run -- '{leaky}' {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 23


def test_a_reader_that_goes_away_is_no_error(leaky: Path, tmp_path: Path) -> None:
    recording = tmp_path / "r"
    leakline("run", "-o", recording, "--", leaky)
    command = f"'{LEAKLINE}' report '{recording}' | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_children_are_in_one_report(leaky: Path, tmp_path: Path) -> None:
    script = f"'{leaky}'; '{leaky}' & wait; exec '{leaky}'"
    done = leakline("run", "--", "sh", "-c", script)
    assert done.stdout == "ran\n" * 3
    assert "note: in 3 of " in done.stderr
    report = tmp_path / "report"
    leakline("run", "--no-children", "--report-file", report, "--", "sh", "-c", script)
    assert "in 3 of" not in report.read_text()


def test_sigterm_reaches_the_program_and_the_report_still_comes(
    server: subprocess.Popen[str],
) -> None:
    server.terminate()
    _, errors = server.communicate(timeout=30)
    assert server.returncode == -signal.SIGTERM
    assert "leak_in_loop" in errors


def test_a_snapshot_shows_what_a_running_program_lost(
    server: subprocess.Popen[str],
) -> None:
    pid = child_of(server)
    for _ in range(3):
        done = leakline("snapshot", str(pid))
        assert done.returncode == 0, done.stderr
        assert "leak_in_loop" in done.stdout
    assert server.poll() is None


def test_only_watched_processes_are_asked_for_snapshots() -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        done = leakline("snapshot", str(bystander.pid))
        assert bystander.poll() is None
        bystander.kill()
    assert done.returncode == 3
    assert "is not watched; start it with `leakline run`" in done.stderr


def test_ctrl_c_reaches_the_program_once_and_the_report_still_comes(
    build: Build, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    program = str(build("counts_interrupts.c"))
    command = ["leakline", "run", "--report-file", str(report), "--", program]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(LEAKLINE, command)  # noqa: S606 (no shell between)
    output = read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    output += read_until(terminal, b"end")
    _, status = os.waitpid(pid, 0)
    assert b"interrupts: 1\r\n" in output
    assert os.waitstatus_to_exitcode(status) == 0
    assert "Checking was active" in report.read_text()


def read_until(terminal: int, word: bytes) -> bytes:
    output = b""
    deadline = time.monotonic() + 30
    while word not in output and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            output += os.read(terminal, 1024)
    assert word in output
    return output


def test_processes_that_outlive_the_program_keep_the_recording(
    build: Build, tmp_path: Path
) -> None:
    server = build("leaking_server.c")
    script = f"'{server}' > '{tmp_path}/out' 2>&1 & echo $!"
    done = leakline("run", "--", "sh", "-c", script, env={"TMPDIR": str(tmp_path)})
    pid = int(done.stdout)
    try:
        assert f"Still running when this report was made: {pid}." in done.stderr
        assert leakline("snapshot", str(pid)).returncode == 0
    finally:
        os.kill(pid, signal.SIGKILL)


def test_preload_prints_what_makes_a_service_watched(
    leaky: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "service:1"
    printed = leakline("preload", "-o", recording, "--for", "shell").stdout
    assert recording.stat().st_mode & 0o777 == 0o600
    script = f"{printed}\nexec '{leaky}'"
    assert plain("sh", "-c", script).stdout == "ran\n"
    assert "make_item" in leakline("report", recording).stdout


def test_the_doctor_gives_a_program_a_clean_bill(leaky: Path) -> None:
    done = leakline("doctor", leaky)
    assert done.returncode == 0, done.stdout
    assert "reach         ok       works" in done.stdout
    assert "loss          -        not in this version" in done.stdout


def test_the_doctor_fails_for_what_cannot_be_watched() -> None:
    done = leakline("doctor", "/sbin/ldconfig")
    assert done.returncode == 3
    assert "is statically linked" in done.stdout


def test_help_names_every_command_and_option() -> None:
    overview = leakline("--help").stdout
    for command in ("run", "report", "snapshot", "preload", "doctor"):
        assert f"\n  {command} " in overview
        assert leakline(command, "--help").stdout.startswith("usage: leakline")
    assert "--gen-suppressions" in leakline("run", "--help").stdout
    assert leakline("--version").stdout.startswith("leakline ")


def test_a_program_waits_little_for_its_watcher() -> None:
    script = "read cpu rest < /proc/$PPID/schedstat; echo $cpu"
    options = ["--report-file", "/dev/null"]
    costs_ns = [
        int(leakline("run", *options, "--", "sh", "-c", script).stdout)
        for _ in range(5)
    ]
    assert min(costs_ns) < 60_000_000
