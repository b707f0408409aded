"""Errors a user can mend; the command line prints them once, without a traceback."""


class LeaklineError(Exception):
    """Base of every error this package raises on purpose.

    The message says what is wrong, why, and what to do next, in one sentence or two.
    """

    exit_code = 2


class UsageError(LeaklineError):
    """The command line or an option does not make sense."""

    exit_code = 2


class ProgramError(LeaklineError):
    """The program cannot be run or watched."""

    exit_code = 3


class RecordingError(LeaklineError):
    """A recording cannot be read: not one of ours, cut short, or another version."""

    exit_code = 4


class SuppressionError(LeaklineError):
    """A suppression file has a line that cannot be understood."""

    exit_code = 5


class CheckError(LeaklineError):
    """The static checker could not look at anything it was asked to."""

    exit_code = 6


class CompileError(LeaklineError):
    """`leakline cc` has no compiler to work with."""

    exit_code = 7
