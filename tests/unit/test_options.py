"""LEAKLINE_OPTIONS, the environment of a watched program, and where files go."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.cli.environment import runtime_library, watching_environment
from leakline.cli.options import format_options, parse_options
from leakline.cli.storage import RecordingPlace, write_report_file
from leakline.errors import LeaklineError, ProgramError, RecordingError, UsageError
from leakline.recording._format import FILE_HEADER, FILE_MAGIC, OPTIONS, VERSION
from leakline.recording.create import FILE_HEADER_BYTES

VALUES = st.text(st.characters(exclude_characters="\0"), max_size=20)


@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), VALUES))
def test_options_are_read_back_as_written(options: dict[str, str]) -> None:
    assert parse_options(format_options(options)) == options


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("depth", "'depth' is not of the form key=value"),
        (
            "lens=reach:colour=red",
            "there is no option 'colour'; known: arm_stress, baseline, births",
        ),
    ],
)
def test_mistakes_in_options_are_told(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_options(text)
    assert complaint in str(raised.value)


def test_empty_parts_of_options_do_not_matter() -> None:
    assert parse_options("::depth=3:") == {"depth": "3"}


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "libleakline.so"
    path.touch()
    return path


def test_the_callers_environment_and_options_stay(runtime: Path) -> None:
    caller = {
        "HOME": "/h",
        "LD_PRELOAD": "a.so b.so",
        "LEAKLINE_OPTIONS": "depth=9:lens=pages:top=3",
        "LEAKLINE_RUNTIME": str(runtime),
    }
    environment = watching_environment(caller, {"lens": "reach", "recording": "/r:1"})
    assert environment["HOME"] == "/h"
    assert environment["LD_PRELOAD"] == f"{runtime}:a.so:b.so"
    assert environment["LEAKLINE_OPTIONS"] == r"depth=9:lens=reach:recording=/r\:1"


def test_the_runtime_is_preloaded_once(runtime: Path) -> None:
    caller = {"LD_PRELOAD": f"{runtime}", "LEAKLINE_RUNTIME": str(runtime)}
    assert watching_environment(caller, {})["LD_PRELOAD"] == str(runtime)


def test_a_runtime_that_the_loader_cannot_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my lib.so").touch()
    with pytest.raises(ProgramError, match="has a space or a colon"):
        runtime_library({"LEAKLINE_RUNTIME": str(tmp_path / "my lib.so")})
    with pytest.raises(ProgramError, match="is not installed"):
        runtime_library({"LEAKLINE_RUNTIME": str(tmp_path / "missing.so")})


def test_the_locale_that_python_chose_does_not_reach_the_program(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = {"LC_CTYPE": "C.UTF-8", "LEAKLINE_RUNTIME": str(runtime)}
    monkeypatch.setattr("leakline.cli.environment._given_at_start", lambda _: False)
    assert "LC_CTYPE" not in watching_environment(caller, {})
    monkeypatch.setattr("leakline.cli.environment._given_at_start", lambda _: True)
    assert watching_environment(caller, {})["LC_CTYPE"] == "C.UTF-8"


def test_the_header_of_a_new_recording_is_the_generated_one() -> None:
    assert FILE_HEADER.pack(FILE_MAGIC, VERSION, 0) == FILE_HEADER_BYTES


def test_a_recording_without_a_name_is_private_and_goes_away(tmp_path: Path) -> None:
    place = RecordingPlace(None, {"XDG_STATE_HOME": str(tmp_path)})
    folder = Path(place.path).parent
    assert folder.parent == tmp_path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(place.path).stat().st_mode) == 0o600
    assert len(folder.name) > 20
    place.discard()
    assert not folder.exists()


def test_the_next_folder_is_taken_when_one_cannot_be_used(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": "/nowhere", "TMPDIR": str(tmp_path)}
    place = RecordingPlace(None, environment)
    assert Path(place.path).parent.parent == tmp_path
    place.discard()


def test_a_named_recording_stays(tmp_path: Path) -> None:
    place = RecordingPlace(str(tmp_path / "kept"), {})
    place.discard()
    assert (tmp_path / "kept").read_bytes() == FILE_HEADER_BYTES
    with pytest.raises(RecordingError, match="exists already"):
        RecordingPlace(str(tmp_path / "kept"), {})


def test_no_link_is_followed_for_a_recording(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(LeaklineError):
        RecordingPlace(str(tmp_path / "link"), {})
    assert not (tmp_path / "victim").exists()


def test_reports_are_written_for_the_user_only(tmp_path: Path) -> None:
    write_report_file(str(tmp_path / "report"), b"text")
    assert (tmp_path / "report").read_bytes() == b"text"
    assert stat.S_IMODE((tmp_path / "report").stat().st_mode) == 0o600


def test_links_in_shared_folders_are_not_followed_for_reports(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(tmp_path / "victim")
    write_report_file(str(shared / "link"), b"mine")
    assert (tmp_path / "victim").read_bytes() == b"mine"
    shared.chmod(0o1777)
    with pytest.raises(UsageError, match="cannot be written"):
        write_report_file(str(shared / "link"), b"evil")
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_a_report_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        write_report_file(str(tmp_path), b"x")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 (a list is compared)
