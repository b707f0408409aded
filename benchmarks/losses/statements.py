"""The statements of random programs: each in C, and what it does to the model."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.losses.memory_model import Area, Memory, Word

SLOTS = 12
INNER_SLOTS = 4
FIELDS = 4
# Mappings and libraries that a program may have at a time, and their words.
MAPPINGS = 2
LIBRARIES = 2
# What threads may do with a reference, and why it is lost then.
THREAD_FUNCTIONS = {
    "keep_in_variable": "thread-exit",
    "keep_on_stack": "thread-exit",
    "keep_for_a_while": "overwritten",
}


class Statement(NamedTuple):
    """One line of a program.

    Attributes:
        text: The line in C.
        cause: Why what it loses is lost.
        function: Where what it loses is lost, if `main` is not that or its caller.
        later: Why a variable, which a second run follows, loses it thereafter.
    """

    text: str
    cause: str = "overwritten"
    function: str = ""
    later: str = ""


@dataclass
class Statements:
    """Runs random statements on a model.

    Attributes:
        line: The line of the next statement.
    """

    source: random.Random
    memory: Memory = field(default_factory=Memory)
    line: int = 0

    def __post_init__(self) -> None:
        """The variables of every program are there from the start."""
        self.memory.roots["s"] = [None] * SLOTS
        self.memory.roots["inner"] = [None] * INNER_SLOTS

    def run(self) -> Statement:
        """Runs a random statement that makes sense now."""
        actions = list(_WEIGHTS)
        weights = list(_WEIGHTS.values())
        while True:
            (action,) = self.source.choices(actions, weights)
            statement = action(self)
            if statement is not None:
                return statement

    def below(self, limit: int) -> int:
        """A random number."""
        return self.source.randrange(limit)

    @property
    def s(self) -> Area:
        """The array of pointers that most statements use."""
        return self.memory.roots["s"]

    def copy_of(self, word: Word | None) -> Word | None:
        """What a slot holds that a reference is copied to."""
        return word and Word(word.block, self.line)

    def block(self) -> tuple[int, int, Area] | None:
        """A random slot that is set, the block it refers to, and its words."""
        used = [(index, word.block) for index, word in enumerate(self.s) if word]
        if not used:
            return None
        index, block = self.source.choice(used)
        return index, block, self.memory.blocks[block]

    def lone_block(self) -> tuple[int, int, Area] | None:
        """A random block that only one slot refers to, if there is one soon.

        Such as hold references are preferred: freeing them may lose something.
        """
        tried = [found for _ in range(6) if (found := self.block())]
        lone = [found for found in tried if self.memory.references(found[1]) == 1]
        return max(lone, key=lambda found: any(found[2]), default=None)


def _allocate(run: Statements) -> Statement:
    a = run.below(SLOTS)
    run.memory.blocks[run.line] = [None] * FIELDS
    run.s[a] = Word(run.line, run.line)
    return Statement(f"s[{a}] = calloc(1, sizeof(struct node));")


def _clear(run: Statements) -> Statement:
    a = run.below(SLOTS)
    run.s[a] = None
    return Statement(f"s[{a}] = NULL;")


def _copy(run: Statements) -> Statement:
    a, b = run.below(SLOTS), run.below(SLOTS)
    run.s[a] = run.copy_of(run.s[b])
    return Statement(f"s[{a}] = s[{b}];")


def _exchange(run: Statements) -> Statement:
    a, b = run.below(SLOTS), run.below(SLOTS)
    taken, run.s[b] = run.s[b], None
    run.s[a] = run.copy_of(taken)
    return Statement(
        f"__atomic_store_n(&s[{a}], __atomic_exchange_n(&s[{b}], NULL, 5), 5);"
    )


def _compare_and_swap(run: Statements) -> Statement | None:
    a, b = run.below(SLOTS), run.below(SLOTS)
    before, after = run.s[a], run.s[b]
    if before and after and before.block == after.block:
        # Whether this creates a reference is a matter of taste.
        return None
    run.s[a] = run.copy_of(after)
    return Statement(f"__sync_bool_compare_and_swap(&s[{a}], s[{a}], s[{b}]);")


def _copy_slots(run: Statements) -> Statement | None:
    a, b = run.below(SLOTS), run.below(SLOTS)
    size = min(run.below(4) + 1, SLOTS - a, SLOTS - b, abs(a - b))
    if size == 0:
        return None
    run.s[a : a + size] = [run.copy_of(word) for word in run.s[b : b + size]]
    way = run.source.choice(["memcpy", "memmove", "copy_by_string"])
    return Statement(f"{way}((void*)&s[{a}], (void*)&s[{b}], {8 * size});")


def _clear_slots(run: Statements) -> Statement:
    a = run.below(SLOTS)
    size = min(run.below(8) + 1, SLOTS - a)
    run.s[a : a + size] = [None] * size
    way = run.source.choice(["fill", "fill_by_string"])
    return Statement(f"{way}((void*)&s[{a}], 0, {8 * size});")


def _refer_inside(run: Statements) -> Statement | None:
    """A pointer to the middle of a block, or to its end."""
    k = run.below(INNER_SLOTS)
    found = run.block()
    if found is None:
        return None
    a, block, fields = found
    offset = 8 * run.below(len(fields) + 1)
    run.memory.roots["inner"][k] = Word(block, run.line)
    return Statement(f"inner[{k}] = (char*)s[{a}] + {offset};")


def _clear_inside(run: Statements) -> Statement:
    k = run.below(INNER_SLOTS)
    run.memory.roots["inner"][k] = None
    return Statement(f"inner[{k}] = NULL;")


def _set_field(run: Statements) -> Statement | None:
    found = run.block()
    if found is None:
        return None
    a, _, fields = found
    b, k = run.below(SLOTS), run.below(len(fields))
    fields[k] = run.copy_of(run.s[b])
    return Statement(f"s[{a}]->f[{k}] = s[{b}];")


def _move_to_field(run: Statements) -> Statement | None:
    found, moved = run.block(), run.block()
    if found is None or moved is None or found[0] == moved[0]:
        return None
    a, _, fields = found
    b, k = moved[0], run.below(len(fields))
    fields[k], run.s[b] = run.copy_of(run.s[b]), None
    return Statement(f"s[{a}]->f[{k}] = take(&s[{b}]);")


def _clear_field(run: Statements) -> Statement | None:
    found = run.block()
    if found is None:
        return None
    a, _, fields = found
    k = run.below(len(fields))
    fields[k] = None
    return Statement(f"s[{a}]->f[{k}] = NULL;")


def _get_field(run: Statements) -> Statement | None:
    found = run.block()
    if found is None:
        return None
    a, _, fields = found
    b, k = run.below(SLOTS), run.below(len(fields))
    run.s[b] = run.copy_of(fields[k])
    return Statement(f"s[{b}] = s[{a}]->f[{k}];")


def _clear_fields(run: Statements) -> Statement | None:
    found = run.block()
    if found is None:
        return None
    a, _, fields = found
    k = run.below(len(fields))
    size = min(run.below(4) + 1, len(fields) - k)
    fields[k : k + size] = [None] * size
    return Statement(f"fill((void*)&s[{a}]->f[{k}], 0, {8 * size});")


def _copy_block(run: Statements) -> Statement | None:
    """A whole structure is copied or cleared, by vector stores in optimised code."""
    first, second = run.block(), run.block()
    if first is None or second is None or len(first[2]) != FIELDS:
        return None
    if len(second[2]) != FIELDS:
        first[2][:] = [None] * FIELDS
        return Statement(f"*(struct copy*)s[{first[0]}] = (struct copy){{{{NULL}}}};")
    first[2][:] = [run.copy_of(word) for word in second[2]]
    return Statement(f"*(struct copy*)s[{first[0]}] = *(struct copy*)s[{second[0]}];")


def _free(run: Statements) -> Statement | None:
    found = run.lone_block()
    if found is None:
        return None
    a, block, _ = found
    del run.memory.blocks[block]
    run.s[a] = None
    way = run.source.choice([f"free(s[{a}])", f"empty(realloc(s[{a}], nothing))"])
    return Statement(f"{way}, s[{a}] = NULL;", "container-freed")


def _reallocate(run: Statements) -> Statement | None:
    """Moves, grows or shrinks a block, which is another one then."""
    found = run.lone_block()
    if found is None or any(word and word.block == found[1] for word in found[2]):
        return None
    a, block, fields = found
    size = run.source.choice([8, 16, 24, 32, 40, 5000, 200_000])
    del run.memory.blocks[block]
    left = fields[: size // 8]
    run.memory.blocks[run.line] = left + [None] * (min(size // 8, FIELDS) - len(left))
    run.s[a] = Word(run.line, run.line)
    return Statement(f"s[{a}] = realloc(s[{a}], {size});", "container-freed")


def _reallocate_in_vain(run: Statements) -> Statement | None:
    found = run.block()
    if found is None:
        return None
    a = found[0]
    if run.below(2):
        return Statement(f"empty(realloc(s[{a}], too_much));")
    run.s[a] = None
    return Statement(f"s[{a}] = realloc(s[{a}], too_much);")


def _map(run: Statements) -> Statement | None:
    k = run.below(MAPPINGS)
    if f"m{k}" in run.memory.roots:
        return None
    run.memory.roots[f"m{k}"] = [None] * FIELDS
    return Statement(f"m[{k}] = map(NULL, 0);")


def _set_outside(run: Statements) -> Statement | None:
    """Stores into a mapping or into a variable of a library."""
    names = [name for name in run.memory.roots if name[0] in "ml"]
    if not names:
        return None
    name = run.source.choice(names)
    b, k = run.below(SLOTS), run.below(FIELDS)
    run.memory.roots[name][k] = run.copy_of(run.s[b])
    run.s[b] = None
    return Statement(f"{name[0]}[{name[1:]}][{k}] = take(&s[{b}]);")


def _unmap(run: Statements) -> Statement | None:
    k = run.below(MAPPINGS)
    if run.memory.roots.pop(f"m{k}", None) is None:
        return None
    if run.below(2):
        return Statement(f"unmap(m[{k}]);", "unmapped")
    run.memory.roots[f"m{k}"] = [None] * FIELDS
    text = run.source.choice([f"m[{k}] = map(m[{k}], MAP_FIXED);", f"shrink(&m[{k}]);"])
    return Statement(text, "unmapped")


def _open_library(run: Statements) -> Statement | None:
    k = run.below(LIBRARIES)
    if f"l{k}" in run.memory.roots:
        return None
    run.memory.roots[f"l{k}"] = [None] * FIELDS
    return Statement(f"l[{k}] = open_library({k}, argv[{k} + 1]);")


def _close_library(run: Statements) -> Statement | None:
    k = run.below(LIBRARIES)
    if run.memory.roots.pop(f"l{k}", None) is None:
        return None
    # A handle that dangles would look like a reference to what lies there next.
    return Statement(f"dlclose(libraries[{k}]), libraries[{k}] = NULL;", "unmapped")


def _hand_to_thread(run: Statements) -> Statement | None:
    """A thread takes the reference, and ends, or overwrites it before."""
    found = run.block()
    if found is None:
        return None
    run.s[found[0]] = None
    way = run.source.choice(list(THREAD_FUNCTIONS))
    cause = THREAD_FUNCTIONS[way]
    return Statement(f"in_thread({way}, &s[{found[0]}]);", cause, way)


def _take_out(run: Statements) -> Statement | None:
    """A local variable takes the reference from a slot, and its function returns."""
    found = run.block()
    if found is None:
        return None
    run.s[found[0]] = None
    text = f"drop_taken(&s[{found[0]}]);"
    return Statement(text, function="drop_taken", later="out-of-scope")


def _drop_in_scope(run: Statements) -> Statement:
    """Allocates what only a local variable refers to, whose function returns."""
    run.memory.blocks[run.line] = [None] * FIELDS
    way = run.source.choice(["hold_here", "hold_result", "hold_in_caller"])
    return Statement(f"{way}();", "out-of-scope", way)


def _ignore(run: Statements) -> Statement:
    run.memory.blocks[run.line] = [None] * FIELDS
    return Statement("make();", "never-stored")


_WEIGHTS: dict[Callable[[Statements], Statement | None], int] = {
    _allocate: 12,
    _clear: 2,
    _copy: 4,
    _exchange: 2,
    _compare_and_swap: 2,
    _copy_slots: 2,
    _clear_slots: 1,
    _refer_inside: 3,
    _clear_inside: 2,
    _set_field: 6,
    _move_to_field: 9,
    _clear_field: 2,
    _get_field: 2,
    _clear_fields: 1,
    _copy_block: 3,
    _free: 4,
    _reallocate: 4,
    _reallocate_in_vain: 1,
    _map: 2,
    _set_outside: 3,
    _unmap: 2,
    _open_library: 1,
    _close_library: 1,
    _hand_to_thread: 1,
    _take_out: 1,
    _drop_in_scope: 1,
    _ignore: 1,
}
