"""The `leakline` command as users and scripts meet it."""

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

from leakline.cli.formats import BINARY, FORMATS

from .command import Build, leakline, plain
from .conftest import LEAKLINE

ROOT = Path(__file__).parents[2]
OPENAT = 257
SCHEMA = ROOT / "docs" / "schema" / "leakline-1.schema.json"


@pytest.fixture
def leaky(build: Build) -> Path:
    return build("report_sample.c")


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


def test_a_run_that_could_not_be_checked_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "broken.so").write_bytes(b"not a library")
    env = {"LEAKLINE_RUNTIME": str(tmp_path / "broken.so")}
    done = leakline("run", "--", "true", env=env)
    assert done.returncode == 3
    assert "nothing was checked" in done.stderr
    assert leakline("run", "--", "false", env=env).returncode == 1


def wait_for_system_call(pid: int, number: int) -> None:
    deadline = time.monotonic() + 120
    state = Path(f"/proc/{pid}/syscall")
    while not state.read_text().startswith(f"{number} "):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_report_that_is_ended_leaves_nothing_behind(
    tmp_path: Path, number: int
) -> None:
    # Nobody reads from the pipe, so that the report waits for ever to open it.
    os.mkfifo(tmp_path / "pipe")
    folder = tmp_path / "temporary"
    folder.mkdir()
    with subprocess.Popen(
        [LEAKLINE, "run", "--report-file", tmp_path / "pipe", "--", "true"],
        env={**os.environ, "TMPDIR": str(folder), "XDG_STATE_HOME": str(folder)},
    ) as process:
        try:
            wait_for_system_call(process.pid, OPENAT)
            assert list(folder.iterdir()) != []
            process.send_signal(number)
            assert process.wait(timeout=120) == -number
        finally:
            process.kill()
    assert list(folder.iterdir()) == []


def test_a_run_that_did_not_start_leaves_no_recording(tmp_path: Path) -> None:
    recording = tmp_path / "r"
    env = {"LEAKLINE_RUNTIME": "/nowhere.so"}
    done = leakline("run", "-o", recording, "--", "true", env=env)
    assert done.returncode == 3
    assert "is not installed" in done.stderr
    assert not recording.exists()


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


def test_files_may_be_pipes_of_a_shell(leaky: Path, tmp_path: Path) -> None:
    script = (
        f"'{LEAKLINE}' run --suppressions <(echo leak:make_item) "
        f"--report-file >(cat > '{tmp_path}/report') -- '{leaky}'; echo $?; wait $!"
    )
    assert plain("bash", "-c", script).stdout == "ran\n0\n"
    assert "no leaks found" in (tmp_path / "report").read_text()


def test_unused_suppressions_are_listed(leaky: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.supp"
    file.write_text("leak:long_gone\n")
    done = leakline("run", "--suppressions", file, "--", leaky)
    assert f"leak:long_gone ({file}:1)" in " ".join(done.stderr.split())
    assert done.returncode == 23


def test_suppressions_of_the_program_itself_count(build: Build) -> None:
    done = leakline("run", "--", build("own_suppressions.c", "-rdynamic"))
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
        (
            ["run", "--lens", "colours", "true"],
            2,
            "there is no lens 'colours'; the lenses are reach, loss, pages, accesses",
        ),
        (["run", "--depth", "0", "true"], 2, "--depth 0 is not between 1 and 256"),
        (["run", "--show", "odd", "true"], 2, "there is no kind 'odd'"),
        (["run", "--every", "0", "true"], 2, "'0' is not a number of seconds"),
        (["run", "--gen-suppressions", "true"], 2, "with an equals sign"),
        (["run", "--error-exitcode", "256", "true"], 2, "256 is not an exit code"),
        (["run", "--report-file", "/no/where", "true"], 2, "make /no first"),
        (["run", "--report-file", "/", "true"], 2, "the report file / is a folder"),
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
        (["frobnicate"], 2, "there is no command 'frobnicate';"),
        (["rpeort"], 2, "there is no command 'rpeort' (did you mean report?)"),
        (["run", "--lnes=loss", "--", "true"], 2, "did you mean --lens?"),
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


def test_a_program_in_this_folder_is_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "probe").symlink_to("/bin/true")
    done = leakline("run", "probe", cwd=tmp_path)
    assert done.stderr == (
        "leakline: probe: there is no such program in the PATH; ./probe is one\n"
    )


def test_a_bad_suppression_is_told_before_the_program_runs(
    leaky: Path, tmp_path: Path
) -> None:
    file = tmp_path / "bad.supp"
    file.write_text("leak:x\nwhat\n")
    done = leakline("run", "--suppressions", file, "--", leaky)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"{file}:2: expected leak:PATTERN" in done.stderr


def test_the_report_can_go_to_standard_output(leaky: Path) -> None:
    done = leakline("run", "--report-file", "/dev/stdout", "--", leaky)
    assert done.stdout.startswith("ran\nLeakline  2 leaks")


def on_full_disk(*words: str | Path) -> str:
    """What is said when the output of a command has no room."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [LEAKLINE, *words],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    return done.stderr


def test_a_full_disk_is_told(leaky: Path, tmp_path: Path) -> None:
    recording = tmp_path / "r"
    leakline("run", "-o", recording, "--", leaky)
    assert on_full_disk("report", recording) == (
        "leakline: the report cannot be written: No space left on device\n"
    )
    for words in (["--help"], ["integrate", "man"]):
        assert on_full_disk(*words) == (
            "leakline: the output cannot be written: No space left on device\n"
        )


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
    assert "loss          ok       works" in done.stdout
    assert "pages         ok       works" in done.stdout


def test_the_doctor_fails_for_what_cannot_be_watched() -> None:
    done = leakline("doctor", "/sbin/ldconfig")
    assert done.returncode == 3
    assert "is statically linked" in done.stdout


def test_help_names_every_command_and_option() -> None:
    overview = leakline("--help").stdout
    for command in ("run", "report", "diff", "snapshot", "preload", "doctor"):
        assert f"\n  {command} " in overview
        assert leakline(command, "--help").stdout.startswith("usage: leakline")
    assert "--gen-suppressions" in leakline("run", "--help").stdout
    assert leakline("--version").stdout.startswith("leakline ")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_by_run_and_report_alike(
    name: str, leaky: Path, tmp_path: Path
) -> None:
    recording, first, second = tmp_path / "r", tmp_path / "first", tmp_path / "second"
    options = ["--format", name, "--report-file"]
    done = leakline("run", "-o", recording, *options, first, "--", leaky)
    assert (done.returncode, done.stderr) == (23, "")
    done = leakline("report", *options, second, recording)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert first.read_bytes() == second.read_bytes()
    content = first.read_bytes()
    assert b"make_item" in (gzip.decompress(content) if name in BINARY else content)


def test_binary_reports_need_a_file(leaky: Path) -> None:
    done = leakline("run", "--format", "pprof", "--", leaky)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the format pprof is binary: name a file" in done.stderr


def test_suppressions_are_generated_only_where_they_have_a_place(leaky: Path) -> None:
    done = leakline("run", "--gen-suppressions", "--format", "junit", "--", leaky)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--gen-suppressions goes with --format text or json" in done.stderr


def test_a_format_that_is_not_there_is_refused(leaky: Path) -> None:
    done = leakline("run", "--format", "yaml", "--", leaky)
    assert done.returncode == 2
    assert "speedscope" in done.stderr
    env = {"LEAKLINE_OPTIONS": "format=yaml"}
    done = leakline("run", "--", leaky, env=env)
    assert done.returncode == 2
    assert "there is no format 'yaml'" in done.stderr
