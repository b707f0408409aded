"""What the plugin says about sources, and the rules every body keeps."""

from collections.abc import Callable, Iterator

import pytest

from leakline.static.facts import Body, Function, Linkage, ParameterFlag, Unit
from leakline.static.facts_reader import FactsError, parse_facts
from leakline.static.instructions import (
    Call,
    CallFlag,
    FunctionConstant,
    GlobalConstant,
    Instruction,
    Op,
)

FactsOf = Callable[..., Unit]

TERMINATORS = {
    Op.BRANCH,
    Op.JUMP,
    Op.SWITCH,
    Op.RETURN,
    Op.UNREACHABLE,
    Op.INVOKE,
    Op.RESUME,
    Op.GOTO,
}

# One function for each thing that C can say and a simple translator may get wrong.
EVERYTHING = """
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct pair { char *a; long n; };
struct big { char *p[8]; };
struct pair small_result(char *a) { struct pair r = {a, 3}; return r; }
struct big big_result(char *a) { struct big r; memset(&r, 0, sizeof r); r.p[2] = a; return r; }
int by_value(struct pair p, struct big b) { free(p.a); return (int)p.n + (b.p[0] != 0); }
static jmp_buf env;
int jumps(void) { char *p = malloc(3); if (setjmp(env)) { free(p); return 1; } longjmp(env, 1); }
int variadic(int n, ...) {
    va_list ap, q; va_start(ap, n); va_copy(q, ap); int s = 0;
    while (n--) s += va_arg(ap, int);
    va_end(ap); va_end(q); return s;
}
int computed(int x) { static void *t[] = {&&a, &&b}; goto *t[x]; a: return 1; b: return 2; }
int assembly(int x) { asm goto("" : : "r"(x) : "memory" : out); return 0; out: return 1; }
static _Atomic(char *) shared; static atomic_int count;
void atomics(char *p) {
    char *old = atomic_exchange(&shared, p); free(old);
    if (atomic_fetch_sub(&count, 1) == 1) free(p);
    char *none = 0; atomic_compare_exchange_strong(&shared, &none, p);
}
int array(int n) { char *v[n]; for (int i = 0; i < n; i++) v[i] = malloc(1); return v[0] != 0; }
static void release(char **p) { free(*p); }
int cleanup(int n) { __attribute__((cleanup(release))) char *p = malloc(4); return n ? 1 : p[0]; }
size_t overflow(size_t a, size_t b) { size_t r; return __builtin_mul_overflow(a, b, &r) ? 0 : r; }
__int128 wide(__int128 a) { return a << 70 | ((__int128)1 << 100); }
int choose(long x) { switch (x) { case -5: return 1; case 1 ... 3: return 2; default: return 0; } }
"""

CPP = """
#include <memory>
#include <string>
#include <vector>
struct Base { virtual ~Base() {} virtual int f() { return 1; } char *p = new char[3]; };
struct Derived : Base { int f() override { throw 3; } };
int caught(int n) {
    auto d = new Derived;
    try { if (n) return d->f(); } catch (int) { return 2; }
    delete d; return 0;
}
int library(std::vector<std::string> &v) { auto b = std::make_unique<Base>(); v.push_back("x"); return b->f(); }
"""


def broken_rules(function: Function, body: Body) -> Iterator[str]:
    """Sentences about every rule of the format that a body breaks."""
    defined = set(range(len(function.declaration.parameters)))
    for block in body.blocks:
        defined.update(row.result for row in block if row.result >= 0)
    if defined != set(range(function.values)):
        yield "values are not numbered without gaps"
    for number, block in enumerate(body.blocks):
        if [is_terminator(row) for row in block] != [False] * (len(block) - 1) + [True]:
            yield f"block {number} does not end with its only terminator"
        for row in block:
            if not all(
                -len(body.constants) <= value < function.values
                for value in used_values(row)
            ):
                yield f"{row} uses an unknown value"
            if row.location >= len(body.locations):
                yield f"{row} has no location"
    for binding in body.bindings:
        if binding.position >= len(body.blocks[binding.block]):
            yield f"{binding} lies outside its block"
    yield from broken_phis(body)


def is_terminator(row: Instruction) -> bool:
    return row.op in TERMINATORS or bool(getattr(row, "targets", ()))


def used_values(row: Instruction) -> Iterator[int]:
    names = {
        *("elements", "pointer", "value", "base", "left", "right", "condition"),
        *("destination", "source", "length", "byte", "list", "aggregate", "expected"),
        *(() if row.op == Op.BRANCH else ("if_true", "if_false")),
        *(() if isinstance(getattr(row, "callee", ""), str) else ("callee",)),
    }
    for name in names:
        value = getattr(row, name, None)
        if value is not None:
            yield value
    yield from getattr(row, "arguments", getattr(row, "operands", ()))
    yield from (value for value, _ in getattr(row, "terms", ()))


def successors(row: Instruction) -> set[int]:
    branches = ("if_true", "if_false") if row.op == Op.BRANCH else ()
    names = (*branches, "target", "default", "normal", "unwind")
    found = {getattr(row, name) for name in names if hasattr(row, name)}
    found.update(getattr(row, "targets", ()))
    found.update(block for _, block in getattr(row, "cases", ()))
    return found


def broken_phis(body: Body) -> Iterator[str]:
    sources: dict[int, set[int]] = {n: set() for n in range(len(body.blocks))}
    for number, block in enumerate(body.blocks):
        for target in successors(block[-1]):
            sources[target].add(number)
    for number, block in enumerate(body.blocks):
        for row in block:
            incoming = {source for source, _ in getattr(row, "incoming", ())}
            if row.op == Op.PHI and incoming != sources[number]:
                yield f"{row} does not name the blocks that lead to it"


@pytest.mark.parametrize(("text", "name"), [(EVERYTHING, "a.c"), (CPP, "a.cpp")])
def test_every_body_keeps_the_rules(facts_of: FactsOf, text: str, name: str) -> None:
    unit = facts_of(text, name)
    assert len(unit.functions) > 10
    for function in unit.functions.values():
        assert list(broken_rules(function, function.body())) == []


def calls(unit: Unit, name: str) -> list[Call]:
    rows = (row for block in unit.functions[name].body().blocks for row in block)
    return [row for row in rows if isinstance(row, Call)]


def test_locals_become_values_and_keep_their_names(facts_of: FactsOf) -> None:
    unit = facts_of("int f(int a) {\n  int b = a;\n  b = b + 1;\n  return b;\n}\n")
    function = unit.functions["f"]
    body = function.body()
    assert not any(row.op in {Op.ALLOCA, Op.LOAD} for row in body.blocks[0])
    assigned = [
        (
            body.variables[binding.variable].name,
            unit.location(function, body, binding.location).line,
        )
        for binding in body.bindings
        if binding.location
    ]
    assert assigned == [("b", 2), ("b", 3)]


def test_a_moved_function_has_the_same_digest(facts_of: FactsOf) -> None:
    text = "int f(int a) { return a; }\n"
    before = facts_of(text).functions["f"]
    after = facts_of("\n\n" + text).functions["f"]
    assert (before.line, after.line) == (1, 3)
    assert before.digest() == after.digest()


def test_a_changed_function_has_another_digest(facts_of: FactsOf) -> None:
    one = facts_of("int f(int a) { return a; }\n").functions["f"]
    other = facts_of("int f(int a) { return a + 1; }\n").functions["f"]
    assert one.digest() != other.digest()


def test_structures_are_described(facts_of: FactsOf) -> None:
    unit = facts_of(
        "typedef struct { int n; struct node *next; unsigned bit : 3; } list;\n"
        "int f(list *l) { return l->next != 0; }\n"
    )
    rows = unit.functions["f"].body().blocks[0]
    step = next(row for row in rows if row.op == Op.ADDRESS)
    pointer = unit.types[unit.functions["f"].declaration.parameters[0].type]
    struct = unit.types[pointer.target]
    assert (struct.kind, struct.name) == ("struct", "list")
    assert [(field.name, field.offset_bits) for field in struct.fields] == [
        ("n", 0),
        ("next", 64),
        ("bit", 128),
    ]
    assert getattr(step, "offset", None) == 8


def test_initial_values_hold_addresses(facts_of: FactsOf) -> None:
    unit = facts_of(
        "int f(void); static int g(void) { return 1; } int other;\n"
        "struct op { int n; int (*call)(void); void *p; };\n"
        "struct op table[2] = {{1, f, &other}, {0, g, 0}};\n"
    )
    initial = unit.globals["table"].initialiser
    found = {value.offset_bytes: value.constant for value in initial}
    assert found[8] == FunctionConstant("f")
    assert found[16] == GlobalConstant("other", 0)
    assert found[32] == FunctionConstant("g")
    assert 24 not in found


def test_a_large_table_keeps_its_addresses(facts_of: FactsOf) -> None:
    numbers = ",".join("7" for _ in range(3000))
    unit = facts_of(
        f"int f(void); struct {{ int n[3000]; int (*p)(void); }} t = {{{{{numbers}}}, f}};"
    )
    table = unit.globals["t"]
    assert table.truncated
    assert table.initialiser[-1].constant == FunctionConstant("f")


def test_linkage_is_told_apart(facts_of: FactsOf) -> None:
    unit = facts_of(
        "static int a(void) { return 1; } int b(void) { return a(); }\n"
        "__attribute__((weak)) int c(void) { return 2; }\n"
    )
    linkage = {name: function.linkage for name, function in unit.functions.items()}
    assert linkage == {
        "a": Linkage.INTERNAL,
        "b": Linkage.EXTERNAL,
        "c": Linkage.WEAK,
    }


def test_attributes_of_declarations_arrive(facts_of: FactsOf) -> None:
    unit = facts_of(
        "void *make(void) __attribute__((malloc, returns_nonnull));\n"
        "void die(void) __attribute__((noreturn));\n"
        "void f(void) { make(); die(); }\n"
    )
    assert {"malloc", "returns_nonnull"} <= unit.declarations["make"].attributes
    assert "noreturn" in unit.declarations["die"].attributes
    made, died = calls(unit, "f")
    assert made.flags & CallFlag.FRESH
    assert died.flags & CallFlag.NORETURN


def test_deallocators_of_gcc_arrive(facts_of: FactsOf) -> None:
    unit = facts_of(
        "void drop(int n, void *p);\n"
        "void *make(void) __attribute__((malloc (drop, 2)));\n"
        "#define MAKER(f) __attribute__((__malloc__ (f)))\n"
        "void end(void *p);\n"
        "MAKER(end) void *begin(void);\n"
        "int f(void) { return make() == begin(); }\n"
    )
    released = {
        name: [(r.function, r.argument) for r in unit.declarations[name].releases]
        for name in ("make", "begin")
    }
    assert released == {"make": [("drop", 1)], "begin": [("end", 0)]}


def test_calls_and_taken_addresses_are_listed(facts_of: FactsOf) -> None:
    unit = facts_of(
        "int a(int), b(int); typedef int (*fn)(int); fn kept;\n"
        "int f(fn g) { kept = b; return a(1) + g(2); }\n"
    )
    function = unit.functions["f"]
    assert function.calls == ("a",)
    assert function.takes == ("b",)
    assert function.signatures == ("i32(i32)",)
    assert function.globals == ("kept",)


def test_structures_by_value_are_marked(facts_of: FactsOf) -> None:
    unit = facts_of(EVERYTHING)
    flags = [p.flags for p in unit.functions["by_value"].declaration.parameters]
    assert flags[-1] & ParameterFlag.BYVAL
    result = unit.functions["big_result"].declaration.parameters[0].flags
    assert result & ParameterFlag.SRET


def test_places_in_included_text_name_their_file(facts_of: FactsOf) -> None:
    unit = facts_of(
        'int f(int a) {\n# 70 "other.h"\n  if (a) return 3;\n'
        '# 3 "unit.c"\n  return 4;\n}\n'
    )
    function = unit.functions["f"]
    body = function.body()
    branch = next(row for row in body.blocks[0] if row.op == Op.BRANCH)
    place = unit.location(function, body, branch.location)
    assert (place.file.rpartition("/")[2], place.line) == ("other.h", 70)


def test_mangled_names_are_shown_readable(facts_of: FactsOf) -> None:
    unit = facts_of("namespace n { int f(int a) { return a; } }", "a.cpp")
    assert unit.language == "c++"
    assert [f.display for f in unit.functions.values()] == ["n::f(int)"]


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "no end": lambda lines: lines[:-1],
    "a line lost": lambda lines: lines[:2] + lines[3:],
    "other version": lambda lines: [
        lines[0].replace(b'"version":2', b'"version":9'),
        *lines[1:],
    ],
    "other format": lambda lines: [b"{}", *lines[1:]],
    "cut line": lambda lines: [lines[0][:-3], *lines[1:]],
    "empty": lambda _: [b""],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_facts_are_refused(damage: str) -> None:
    header = (
        b'{"format":"leakline-facts","version":2,"llvm":"19","source":"a.c",'
        b'"directory":"/","language":"c","target":"t","pointer_bytes":8,"globals":[],'
        b'"declarations":[],"aliases":[],"constructors":[],"destructors":[],'
        b'"files":["a.c"],"types":[]}'
    )
    function = (
        b'{"name":"f","display":"f","signature":"v()","variadic":false,"returns":null,'
        b'"parameters":[],"attributes":[],"releases":[],"linkage":"external","file":0,'
        b'"line":1,"return_type":-1,"calls":[],"takes":[],"signatures":[],"globals":[],'
        b'"member_stores":[],'
        b'"values":0,"instructions":1}'
    )
    lines = [header, function, b"{}", b'{"end": 1}']
    assert parse_facts(b"\n".join(lines), "x").functions
    with pytest.raises(FactsError):
        parse_facts(b"\n".join(DAMAGES[damage](lines)), "x")
