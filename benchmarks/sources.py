"""C programs of any length, for measuring the static checker.

The code is of the usual kinds: constructors with a common error exit, lists, text
handling, loops with switches, functions that pass errors on. One function in
`FUNCTIONS_PER_LEAK` forgets to release on an error path, so that the number of leaks is
known.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

FUNCTIONS_PER_LEAK = 100
FUNCTIONS_PER_UNIT = 60

HEADER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { char *name; int weight; struct item *next; };
struct table { struct item *first; int count; int limit; };
"""

CONSTRUCTOR = """
struct table *make_{n}(const char *name, int limit)
{{
    struct table *t = calloc(1, sizeof *t);
    struct item *i = NULL;
    if (!t)
        return NULL;
    i = malloc(sizeof *i);
    if (!i)
        goto fail;
    i->name = strdup(name);
    if (!i->name)
        goto fail;
    i->weight = limit * {k};
    i->next = NULL;
    t->first = i;
    t->count = 1;
    t->limit = limit;
    return t;
fail:
    free(i);
    free(t);
    return NULL;
}}
"""
DESTRUCTOR = """
void drop_{n}(struct table *t)
{{
    struct item *i, *next;
    if (!t)
        return;
    for (i = t->first; i; i = next) {{
        next = i->next;
        free(i->name);
        free(i);
    }}
    free(t);
}}
"""
INSERT = """
int insert_{n}(struct table *t, const char *name, int weight)
{{
    struct item *i;
    if (t->count >= t->limit)
        return -{k};
    i = malloc(sizeof *i);
    if (!i)
        return -1;
    i->name = strdup(name);
    if (!i->name) {{
        free(i);
        return -1;
    }}
    i->weight = weight;
    i->next = t->first;
    t->first = i;
    t->count++;
    return 0;
}}
"""
PARSE = """
int parse_{n}(const char *text, int *out)
{{
    int state = {k}, sum = 0, sign = 1;
    for (; *text; text++) {{
        switch (*text) {{
        case '+': sign = 1; state = 1; break;
        case '-': sign = -1; state = 2; break;
        case ' ': if (state == 0) continue; state = 0; break;
        case '#': return sum;
        default:
            if (*text < '0' || *text > '9')
                return -1;
            sum += sign * (*text - '0');
        }}
    }}
    *out = sum;
    return state == 2 ? sum - {k} : sum;
}}
"""
USER = """
int use_{n}(const char *text, int mode)
{{
    struct table *t = make_{made}(text, {k} + 4);
    int value = 0, code;
    if (!t)
        return -1;
    code = parse_{parsed}(text, &value);
    if (code < 0) {{
        {release}
        return code;
    }}
    if (mode > {k} && insert_{inserted}(t, text, value) < 0) {{
        drop_{made}(t);
        return -2;
    }}
    printf("%d %d\\n", t->count, value);
    drop_{made}(t);
    return value;
}}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A generated program: its folder, length, and how many functions leak."""

    folder: Path
    lines: int
    leaks: int
    first_source: Path


def write_program(folder: Path, lines: int) -> Program:
    """Write about so many lines of C with a compile database into a new folder."""
    folder.mkdir(parents=True)
    generator = _Generator(random.Random(lines))  # noqa: S311 (not for secrets)
    entries: list[dict[str, str | list[str]]] = []
    written = 0
    while written < lines:
        source = folder / f"unit{len(entries)}.c"
        text = generator.unit(len(entries))
        source.write_text(text)
        written += text.count("\n")
        words = ["cc", "-c", source.name]
        entries.append({"directory": str(folder), "arguments": words})
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return Program(folder, written, generator.leaks, folder / "unit0.c")


class _Generator:
    def __init__(self, chance: random.Random) -> None:
        self.leaks = 0
        self._chance = chance
        self._functions = 0

    def unit(self, number: int) -> str:
        parts = [HEADER]
        for index in range(FUNCTIONS_PER_UNIT // 5):
            parts += self._group(f"{number}_{index}")
        return "".join(parts)

    def _group(self, name: str) -> list[str]:
        """One function of each kind, of which the last uses the others."""
        values = {"n": name, "k": self._chance.randint(1, 9)}
        templates = (CONSTRUCTOR, DESTRUCTOR, INSERT, PARSE)
        self._functions += len(templates) + 1
        forgets = self._functions % FUNCTIONS_PER_LEAK == 0
        self.leaks += forgets
        user = USER.format(
            **values,
            made=name,
            parsed=name,
            inserted=name,
            release=";" if forgets else f"drop_{name}(t);",
        )
        return [*(template.format(**values) for template in templates), user]
