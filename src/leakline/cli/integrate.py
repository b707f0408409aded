"""Prints what puts Leakline into other tools.

bash, zsh and fish: a script that completes the command line. man: the manual page.
cmake: the folder with the CMake module FindLeakline.
"""

from argparse import ArgumentParser, Namespace
from importlib.resources import files

TOOLS = ("bash", "zsh", "fish", "man", "cmake")


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the argument of `leakline integrate`."""
    parser.add_argument(
        "tool", choices=TOOLS, help="the tool: bash, zsh, fish, man or cmake"
    )


def run(arguments: Namespace) -> int:
    """Prints the script, page or path."""
    from leakline.cli import completion, manual

    match arguments.tool:
        case "cmake":
            print(files("leakline.integrations") / "cmake")
        case "man":
            print(manual.man_page(), end="")
        case shell:
            print(getattr(completion, shell)(), end="")
    return 0
