"""The command `leakline-valgrind`: takes Memcheck's options, runs Leakline instead.

For CTest, Meson, IDEs and scripts that know how to call Valgrind and read its log. What
has no meaning for a leak finder is accepted and ignored.
"""

from __future__ import annotations

import os
import re
import sys

from leakline.cli.main import complain, main, version_text
from leakline.errors import LeaklineError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_USAGE = "leakline-valgrind [VALGRIND OPTIONS] PROGRAM [ARGUMENT ...]"
# Memcheck's names for the kinds of blocks, and ours.
_KINDS = {
    "definite": "lost",
    "indirect": "indirect",
    "reachable": "reachable",
    "all": "all",
}
# Options of Valgrind's core and of Memcheck that change nothing here.
_IGNORED = re.compile(
    r"--(track-origins|undef-value-errors|track-fds|time-stamp|demangle|leak-resolution"
    r"|leak-check-heuristics|errors-for-leak-kinds|keep-stacktraces|keep-debuginfo"
    r"|freelist-vol|freelist-big-blocks|malloc-fill|free-fill|show-mismatched-frees"
    r"|partial-loads-ok|expensive-definedness-checks|vgdb|vgdb-error|fair-sched|smc-check"
    r"|read-var-info|read-inline-info|run-libc-freeres|run-cxx-freeres|sim-hints"
    r"|max-stackframe|main-stacksize|max-threads|redzone-size|alignment|error-limit"
    r"|exit-on-first-error|default-suppressions|error-markers|show-error-list|num-transtab"
    r"|trace-children-skip|trace-children-skip-by-arg|child-silent-after-fork|verbose"
    r"|workaround-gcc296-bugs|soname-synonyms|xtree-leak|xtree-leak-file"
    r"|show-below-main|fullpath-after|extra-debuginfo-path|allow-mismatched-debuginfo"
    r"|leak-check)(=.*)?|-[vd]"
)


def run_as_valgrind(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns the exit code, as `valgrind` would."""
    words = list(sys.argv[1:] if argv is None else argv)
    if "--version" in words[:1]:
        print(f"leakline-valgrind-{version_text()}")
        return 0
    if not words or words[0] in ("-h", "--help"):
        print(f"usage: {_USAGE}")
        return 0
    try:
        options, command = translate(words)
    except LeaklineError as error:
        complain(str(error))
        return error.exit_code
    if os.path.basename(command[0]) == "leakline":
        return _leave_alone(options, command)
    return main(["run", *options, "--", *command])


def _leave_alone(options: list[str], command: list[str]) -> int:
    """Runs a program that watches others itself, as a test of a project may be."""
    import subprocess

    for option in options:
        name, _, path = option.partition("=")
        if name == "--report-file":
            with open(path, "w", encoding="ascii") as log:
                log.write(f"=={os.getpid()}== Not watched: this is Leakline itself.\n")
    return subprocess.run(command, check=False).returncode


def translate(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of `leakline run` for those of Valgrind, and the program's words.

    Raises:
        UsageError: An option is not Valgrind's, or asks for what Leakline cannot do.
    """
    place = next((n for n, word in enumerate(words) if not word.startswith("-")), None)
    if "--" in words[:place]:
        place = list(words).index("--") + 1
    if place is None or place == len(words):
        raise UsageError(f"no program is named (usage: {_USAGE})")
    translation = _Translation()
    for word in words[:place]:
        if word != "--":
            translation.take(word)
    return translation.options(), list(words[place:])


class _Translation:
    def __init__(self) -> None:
        self._chosen: dict[str, str] = {"--error-exitcode": "0"}
        self._repeated: list[str] = []
        self._log = self._xml_file = ""
        self._xml = False
        self._children = self._quiet = False

    def take(self, word: str) -> None:
        name, _, value = word.partition("=")
        translate_one = self._known().get(name)
        if translate_one is not None:
            translate_one(value)
        elif not _IGNORED.fullmatch(word):
            raise UsageError(f"{word} is no option of Memcheck that Leakline knows")

    def options(self) -> list[str]:
        chosen = dict(self._chosen)
        chosen["--format"] = "valgrind-xml" if self._xml else "memcheck"
        file = self._xml_file if self._xml else self._log
        if file:
            chosen["--report-file"] = _expanded(file)
        options = [f"{name}={value}" for name, value in chosen.items()]
        options += self._repeated
        options += ["--quiet"] if self._quiet and not self._xml else []
        return options if self._children else [*options, "--no-children"]

    def _known(self) -> dict[str, Callable[[str], None]]:
        return {
            "--tool": self._tool,
            "--error-exitcode": lambda value: self._choose("--error-exitcode", value),
            "--num-callers": lambda value: self._choose("--depth", value),
            "--suppressions": self._suppressions,
            "--gen-suppressions": self._generate,
            "--quiet": self._be_quiet,
            "-q": self._be_quiet,
            "--show-reachable": self._show_reachable,
            "--show-leak-kinds": self._show_kinds,
            "--log-file": self._log_file,
            "--xml": self._as_xml,
            "--xml-file": self._to_xml_file,
            "--trace-children": self._trace_children,
            "--log-fd": self._descriptor,
            "--xml-fd": self._descriptor,
        }

    def _choose(self, name: str, value: str) -> None:
        self._chosen[name] = value

    def _tool(self, value: str) -> None:
        if value != "memcheck":
            raise UsageError(f"Leakline stands in for Memcheck only, not for {value}")

    def _suppressions(self, value: str) -> None:
        self._repeated.append(f"--suppressions={value}")

    def _generate(self, value: str) -> None:
        # Nobody can be asked about each: the program has its terminal.
        if value in ("yes", "all"):
            self._chosen["--gen-suppressions"] = "valgrind"
        else:
            self._chosen.pop("--gen-suppressions", None)

    def _be_quiet(self, value: str) -> None:
        self._quiet = value != "no"

    def _show_reachable(self, value: str) -> None:
        kinds = "all" if value == "yes" else "lost,indirect"
        self._chosen.setdefault("--show", kinds)

    def _show_kinds(self, value: str) -> None:
        kinds = [_KINDS[word] for word in value.split(",") if word in _KINDS]
        self._chosen["--show"] = ",".join(kinds) or "lost"

    def _log_file(self, value: str) -> None:
        self._log = value

    def _as_xml(self, value: str) -> None:
        self._xml = value == "yes"

    def _to_xml_file(self, value: str) -> None:
        self._xml_file = value

    def _trace_children(self, value: str) -> None:
        self._children = value == "yes"

    def _descriptor(self, value: str) -> None:
        self._log = self._xml_file = f"/dev/fd/{value}"


def _expanded(path: str) -> str:
    """The name of a log with Valgrind's %p, %n, %q{VAR} and %% filled in."""
    names = {"%p": str(os.getpid()), "%n": "0", "%%": "%"}
    return re.sub(
        r"%(?:[pn%]|q\{([^}]*)\})",
        lambda found: names.get(found[0]) or os.environ.get(found[1] or "", ""),
        path,
    )
