"""Completion of the command line in bash, zsh and fish."""

from collections.abc import Iterator

from leakline.cli.options_table import Command, Option, all_commands

_BASH = """\
# Completes leakline and its options; made by `leakline integrate bash`.
_leakline() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} index
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '{commands}' -- "$word"))
        return
    fi
    for ((index = 2; index < COMP_CWORD; index++)); do
        # What follows is the command line of another program.
        [[ ${{COMP_WORDS[index]}} == -- ]] && {{ compopt -o default; return; }}
    done
    case ${{COMP_WORDS[1]}}:$before in
{values}
    esac
    if [[ $word == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{options}
        esac
    else
        compopt -o default
    fi
}}
complete -F _leakline leakline
"""
_ZSH = """\
#compdef leakline
# Made by `leakline integrate zsh`; zsh reads the completion that bash uses.
autoload -U +X bashcompinit && bashcompinit
"""


def bash() -> str:
    """A script for bash, to be sourced."""
    commands = all_commands()
    return _BASH.format(
        commands=" ".join(command.name for command in commands),
        values="\n".join(_bash_values(commands)),
        options="\n".join(map(_bash_options, commands)),
    )


def zsh() -> str:
    """A script for zsh, to be sourced."""
    return _ZSH + bash()


def fish() -> str:
    """A script for fish, to be sourced."""
    return "".join(f"{line}\n" for line in _fish_lines())


def _bash_values(commands: list[Command]) -> Iterator[str]:
    for command in commands:
        for option in command.options:
            if option.choices:
                pattern = "|".join(f"{command.name}:{name}" for name in option.names)
                words = " ".join(option.choices)
                reply = f"COMPREPLY=($(compgen -W '{words}' -- \"$word\")); return"
                yield f"    {pattern}) {reply} ;;"
            elif option.value:
                pattern = "|".join(f"{command.name}:{name}" for name in option.names)
                yield f"    {pattern}) compopt -o default; return ;;"


def _bash_options(command: Command) -> str:
    names = " ".join(name for option in command.options for name in option.names)
    reply = f"COMPREPLY=($(compgen -W '{names}' -- \"$word\"))"
    return f"        {command.name}) {reply} ;;"


def _fish_lines() -> Iterator[str]:
    yield "# Completes leakline and its options; made by `leakline integrate fish`."
    for command in all_commands():
        yield (
            "complete -c leakline -n __fish_use_subcommand -f "
            f"-a {command.name} -d {_quoted(command.summary)}"
        )
        condition = f"'__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            yield f"complete -c leakline -n {condition} {_fish_option(option)}"


def _fish_option(option: Option) -> str:
    words = []
    for name in option.names:
        is_long = name.startswith("--")
        words.append(f"-l {name[2:]}" if is_long else f"-s {name[1:]}")
    if option.choices:
        words.append(f"-x -a {_quoted(' '.join(option.choices))}")
    elif option.value:
        words.append("-r")
    return " ".join([*words, "-d", _quoted(option.help)])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
