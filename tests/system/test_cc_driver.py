"""`leakline cc` in the place of a compiler, as builds call it."""

import os
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from .compiled import watch_json
from .conftest import LEAKLINE

COMPILER = LEAKLINE.parent / "leakline-cc"
LEAK = """
#include <stdlib.h>
static void lose(void) { char* volatile p = malloc(10); (void)p; }
int main(void) { lose(); return 0; }
"""


# Nobody but the start of a thread or a library passes a last reference by address.
CALLED_BY_ADDRESS = """
static int first(const char* text) { return text[0]; }
int (*volatile chosen)(const char*) = first;
int main(void) { return chosen(""); }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "with blank.c"
    path.write_text(LEAK)
    return path


def call(
    folder: Path, *words: str | Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMPILER, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        env={**os.environ, **(env or {})},
    )


def lines_of_losses(program: Path, folder: Path) -> list[int]:
    findings = watch_json(program, folder)["findings"]
    return [finding["loss"]["frames"][0]["line"] for finding in findings]


def test_a_response_file_stands_for_its_words(source: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text(f"-O1 '{source}' -o program")
    done = call(tmp_path, "@words")
    assert (done.returncode, done.stderr) == (0, "")
    assert lines_of_losses(tmp_path / "program", tmp_path) == [3]


def test_a_response_file_can_have_options_of_ours(source: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text(f"--births -### -c '{source}'")
    done = call(tmp_path, "@words")
    assert done.returncode == 0, done.stderr
    assert "-leakline-births" in done.stderr
    (tmp_path / "question").write_text("--print-flags")
    done = call(tmp_path, "@question")
    assert "-fpass-plugin=" in done.stdout
    assert done.returncode == 0


def test_sources_can_be_preprocessed_and_commands_shown(
    source: Path, tmp_path: Path
) -> None:
    preprocessed = call(tmp_path, "-E", source)
    assert "malloc" in preprocessed.stdout
    shown = call(tmp_path, "-###", "-c", source)
    assert "-fpass-plugin=" in shown.stderr
    assert not list(tmp_path.glob("*.o"))


def test_objects_and_programs_are_made_apart(source: Path, tmp_path: Path) -> None:
    assert call(tmp_path, "-c", source, "-o", "a.o").returncode == 0
    linked = call(tmp_path, "a.o", "-o", "program")
    assert (linked.returncode, linked.stdout, linked.stderr) == (0, "", "")
    assert lines_of_losses(tmp_path / "program", tmp_path) == [3]


def test_stages_and_assembly_get_only_what_they_know(
    source: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.s").write_text('.section .note.GNU-stack,"",@progbits\n')
    done = call(tmp_path, "-O2", "-save-temps", source, "more.s", "-o", "program")
    assert done.returncode == 0, done.stderr
    assert lines_of_losses(tmp_path / "program", tmp_path) == [3]


def test_parameters_may_be_all_that_a_source_can_lose(tmp_path: Path) -> None:
    (tmp_path / "first.c").write_text(CALLED_BY_ADDRESS)
    done = call(tmp_path, "-O2", "first.c", "-o", "program")
    assert (done.returncode, done.stderr) == (0, "")
    assert watch_json(tmp_path / "program", tmp_path)["findings"] == []


def test_ccache_takes_it_for_a_compiler(source: Path, tmp_path: Path) -> None:
    env = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}
    words = ["ccache", str(COMPILER), "-c", str(source), "-o", str(tmp_path / "a.o")]
    for _ in range(2):
        subprocess.run(words, check=True, timeout=120, env=env)
    statistics = subprocess.run(
        ["ccache", "--print-stats"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env=env,
    ).stdout
    assert "cache_miss\t1" in statistics
    hits = dict(line.split("\t") for line in statistics.splitlines())
    assert int(hits["direct_cache_hit"]) + int(hits["preprocessed_cache_hit"]) == 1
    assert call(tmp_path, "a.o", "-o", "program").returncode == 0
    assert lines_of_losses(tmp_path / "program", tmp_path) == [3]


def test_errors_in_a_source_are_the_compilers_own(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return missing; }")
    done = call(tmp_path, "a.c")
    assert done.returncode == 1
    assert "undeclared identifier 'missing'" in done.stderr
    assert "leakline" not in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-static", "-o", "a"), "a static program cannot be watched"),
        (("-nostdlib", "-c", "-ffreestanding"), "compiled plainly"),
        (("-flto", "-c"), "optimisation at link time is turned off"),
        (("-fsanitize=address", "-c"), "address sanitizer cannot be watched"),
        (("--target=aarch64-linux-gnu", "-S"), "not aarch64-linux-gnu"),
    ],
)
def test_what_cannot_be_watched_is_said_and_compiled(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    done = call(tmp_path, *words, "a.c")
    assert done.returncode == 0, done.stderr
    assert sentence in done.stderr


def test_another_compiler_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = call(tmp_path, "-c", "a.c", env={"LEAKLINE_CLANG": "/bin/true"})
    assert done.returncode != 0
    assert "which is no clang" in done.stderr
    assert "Traceback" not in done.stderr


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(sample C)
include(CheckSymbolExists)
check_symbol_exists(strdup "string.h" HAS_STRDUP)
try_compile(WORKS ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/a.c)
if(NOT HAS_STRDUP OR NOT WORKS)
  message(FATAL_ERROR "the compiler was not understood")
endif()
add_executable(program a.c)
"""


def test_cmake_tries_and_builds_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LEAK)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    make = [
        "cmake",
        "-S",
        ".",
        "-B",
        "b",
        "-G",
        "Ninja",
        f"-DCMAKE_C_COMPILER={COMPILER}",
    ]
    for words in (make, ["cmake", "--build", "b"]):
        done = subprocess.run(
            words,
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert lines_of_losses(tmp_path / "b/program", tmp_path) == [3]


def test_nothing_is_cleared_up_behind_a_call(source: Path, tmp_path: Path) -> None:
    done = call(tmp_path, "-c", source, env={"PYTHONVERBOSE": "1"})
    assert done.returncode == 0
    assert "import 'leakline.compile.driver'" in done.stderr
    assert "# cleanup" not in done.stderr


def test_flags_are_printed_before_the_call_ends(tmp_path: Path) -> None:
    done = call(tmp_path, "--print-flags")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-fpass-plugin=" in done.stdout


def entries_named(name: str, program: Path) -> int:
    """How many entries of the debug information have that name."""
    with program.open("rb") as file:
        units = ELFFile(file).get_dwarf_info().iter_CUs()
        names = [
            die.attributes["DW_AT_name"].value
            for unit in units
            for die in unit.iter_DIEs()
            if "DW_AT_name" in die.attributes
        ]
    return names.count(name.encode())


# Where variables are in optimised code is for debuggers; notes have their names.
@pytest.mark.parametrize(("words", "is_told"), [((), False), (("-g",), True)])
def test_debug_information_tells_of_local_variables_when_it_is_asked_for(
    words: tuple[str, ...], is_told: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.c").write_text(
        "#include <stdlib.h>\n"
        "static int total;\n"
        "static void lose(void) {\n"
        "    char* volatile held = malloc(10);\n"
        "    held = NULL;\n"
        "    total++;\n"
        "}\n"
        "int main(void) { lose(); return total - 1; }\n"
    )
    assert call(tmp_path, "-O2", *words, "a.c", "-o", "program").returncode == 0
    program = tmp_path / "program"
    assert (entries_named("held", program) > 0) == is_told
    assert entries_named("total", program) == entries_named("lose", program) == 1
    (finding,) = watch_json(program, tmp_path)["findings"]
    assert finding["loss"]["frames"][0]["line"] == 5
    assert finding["loss"]["slot"] == "held"
