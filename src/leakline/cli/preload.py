"""Prints the environment that makes a service be watched, and creates its recording.

Put the lines into the service's unit, container or shell, start the service, and look
at it with `leakline snapshot PID` or, after its end, `leakline report FILE`.
"""

import os
import pwd
import shlex
from argparse import ArgumentParser, Namespace

from leakline.cli import planning, watching
from leakline.cli.environment import PRELOAD, watching_environment
from leakline.cli.inspection.program import find_program
from leakline.cli.options import VARIABLE
from leakline.errors import UsageError
from leakline.recording.create import create_recording


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `leakline preload`."""
    parser.add_argument(
        "-o",
        dest="recording",
        metavar="FILE",
        required=True,
        help="the recording to create; it must not exist yet",
    )
    parser.add_argument(
        "--user", help="user the service runs as: the recording will belong to it"
    )
    parser.add_argument(
        "--for",
        dest="syntax",
        choices=tuple(_SYNTAXES),
        default="env",
        help="syntax of the lines (default: env, as in an EnvironmentFile)",
    )
    parser.add_argument(
        "--program",
        metavar="FILE",
        help="the service's program: lenses loss and accesses need plans for it and its "
        "libraries, which are made now",
    )
    watching.add_arguments(parser)


def run(arguments: Namespace) -> int:
    """Creates the recording and prints the lines."""
    watching.check(arguments)
    recording = os.path.abspath(arguments.recording)
    owner = _user_id(arguments.user) if arguments.user else None
    options = watching.runtime_options(arguments, recording) | _plans(arguments)
    environment = watching_environment(os.environ, options)
    create_recording(recording)
    if owner is not None:
        _give_to(recording, owner)
    for variable in (PRELOAD, VARIABLE):
        print(_SYNTAXES[arguments.syntax](variable, environment[variable]))
    return 0


def _plans(arguments: Namespace) -> dict[str, str]:
    """Makes the plans that the lenses need; returns the options that tell of them."""
    if not planning.is_wanted(arguments):
        return {}
    if arguments.program is None:
        raise UsageError(
            f"lens {arguments.lens} needs plans: name the service's program by --program"
        )
    program = find_program(arguments.program, os.environ.get("PATH"))
    return planning.plan_before(program, arguments.lens, births=arguments.births)


def _user_id(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise UsageError(f"there is no user {name!r}") from None


def _give_to(recording: str, owner: int) -> None:
    try:
        os.chown(recording, owner, -1, follow_symlinks=False)
    except OSError as error:
        os.unlink(recording)
        raise UsageError(
            f"the recording cannot be given to the user: {error.strerror}; "
            "run this command as root or as that user"
        ) from None


def _env_line(variable: str, value: str) -> str:
    return f"{variable}={value}"


def _systemd_line(variable: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'Environment="{variable}={escaped}"'


def _shell_line(variable: str, value: str) -> str:
    return f"export {variable}={shlex.quote(value)}"


_SYNTAXES = {"env": _env_line, "systemd": _systemd_line, "shell": _shell_line}
