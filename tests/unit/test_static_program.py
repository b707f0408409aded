"""Names resolved per link unit, calls ordered, indirect calls followed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.static.capture.command import LinkStep
from leakline.static.capture.links import link_units
from leakline.static.facts import Unit
from leakline.static.instructions import Call
from leakline.static.linking import LinkUnit
from leakline.static.program import Program
from leakline.static.scc import bottom_up_components

FactsOf = Callable[..., Unit]
Graph = dict[str, list[str]]


def linked(*units: int, closed: bool = True) -> LinkUnit:
    return LinkUnit(f"prog{units}", frozenset(units), closed)


def indirect_call(program: Program, function_id: str) -> tuple[str, ...] | None:
    body = program.functions[function_id].function.body()
    rows = (row for block in body.blocks for row in block)
    call = next(row for row in rows if isinstance(row, Call) and row.signature)
    return program.indirect_targets(function_id, body, call)


def test_callees_come_before_callers() -> None:
    graph = {"main": ["b", "a"], "a": ["b"], "b": []}
    assert bottom_up_components(graph, graph) == (("b",), ("a",), ("main",))


def test_mutual_recursion_is_one_component() -> None:
    graph = {"main": ["even"], "even": ["odd"], "odd": ["even", "leaf"], "leaf": []}
    components = bottom_up_components(graph, graph)
    assert [set(group) for group in components] == [
        {"leaf"},
        {"even", "odd"},
        {"main"},
    ]


def test_a_long_chain_needs_no_deep_stack() -> None:
    graph = {str(n): [str(n + 1)] for n in range(50_000)}
    assert bottom_up_components(graph, graph)[0] == ("50000",)


@given(
    st.dictionaries(
        st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), max_size=4)
    )
)
def test_components_are_in_order_and_complete(graph: Graph) -> None:
    components = bottom_up_components(graph, graph)
    order = {node: n for n, group in enumerate(components) for node in group}
    assert sorted(order) == sorted({*graph, *(n for to in graph.values() for n in to)})
    for node, targets in graph.items():
        for target in targets:
            assert order[target] <= order[node]
            together = order[target] == order[node]
            assert together == reaches(graph, target, node)


def reaches(graph: Graph, start: str, goal: str) -> bool:
    seen, pending = set(), [start]
    while pending:
        node = pending.pop()
        if node == goal:
            return True
        if node not in seen:
            seen.add(node)
            pending += graph.get(node, [])
    return False


def test_internal_functions_stay_in_their_unit(facts_of: FactsOf) -> None:
    text = "static int f(void) {{ return {}; }} int {}(void) {{ return f(); }}"
    one = facts_of(text.format(1, "one"), "one.c")
    two = facts_of(text.format(2, "two"), "two.c")
    program = Program([one, two])
    first, second = program.callees("one"), program.callees("two")
    assert first != second
    assert program.functions[second[0]].unit == 1


def test_programs_of_one_build_do_not_mix(facts_of: FactsOf) -> None:
    units = [
        facts_of("void usage(void) {} int main(void) { usage(); }", "a.c"),
        facts_of("void usage(void) {} int main(void) { usage(); }", "b.c"),
        facts_of("void usage(void); void fail(void) { usage(); }", "lib.c"),
    ]
    program = Program(units, [linked(0, 2), linked(1, 2)])
    mains = [name for name in program.functions if name.startswith("main@")]
    assert [program.callees(name)[0].rpartition("/")[2] for name in mains] == [
        "a.c",
        "b.c",
    ]
    assert program.callees("fail") == ()


def test_a_definition_in_another_program_is_not_seen(facts_of: FactsOf) -> None:
    units = [
        facts_of("int f(void); int main(void) { return f(); }", "a.c"),
        facts_of("int f(void) { return 1; }", "b.c"),
    ]
    assert Program(units, [linked(0), linked(1)]).resolve(0, "f") is None
    assert Program(units, [linked(0, 1)]).resolve(0, "f") == "f"


def test_a_strong_definition_wins_over_a_weak_one(facts_of: FactsOf) -> None:
    units = [
        facts_of("__attribute__((weak)) int f(void) { return 1; }", "weak.c"),
        facts_of("int f(void) { return 2; }", "strong.c"),
        facts_of("int f(void); int g(void) { return f(); }", "user.c"),
    ]
    program = Program(units)
    assert program.functions[program.callees("g")[0]].unit == 1


def test_inline_functions_are_all_the_same(facts_of: FactsOf) -> None:
    text = "inline int f() {{ return 1; }} int {}() {{ return f(); }}"
    units = [facts_of(text.format(name), f"{name}.cpp") for name in ("a", "b")]
    program = Program(units)
    callees = {program.callees(name)[0] for name in ("_Z1av", "_Z1bv")}
    assert len(callees) == 1


def test_an_alias_leads_to_its_function(facts_of: FactsOf) -> None:
    unit = facts_of(
        "int real(void) { return 1; }\n"
        'int other(void) __attribute__((alias("real")));\n'
    )
    assert Program([unit]).resolve(0, "other") == "real"


def test_an_indirect_call_reaches_what_is_taken(facts_of: FactsOf) -> None:
    unit = facts_of(
        "int a(int x) { return x; } int b(int x) { return x; }\n"
        "int c(int x) { return x; } long d(long x) { return x; }\n"
        "int (*table[])(int) = {a, b}; long (*other)(long) = d;\n"
        "int main(int n, char **v) { return table[n](1); }\n"
    )
    program = Program([unit], [linked(0)])
    assert indirect_call(program, "main") == ("a", "b")
    assert set(program.callees("main")) == {"a", "b"}
    assert program.is_address_taken("a")
    assert not program.is_address_taken("c")


def test_a_call_may_ignore_results_and_pass_too_much(facts_of: FactsOf) -> None:
    unit = facts_of(
        "int one(char *p) { return *p; } void two(void *p, int n) {}\n"
        "void three(void *p, int n, int m) {}\n"
        "void *kept[] = {one, two, three};\n"
        "void call(void (*f)(void *, int)) { f(0, 1); }\n"
        "int main(void) { return 0; }\n"
    )
    program = Program([unit], [linked(0)])
    assert indirect_call(program, "call") == ("one", "two")


MEMBERS = """
typedef struct { int n; void (*drop)(void *); } ops;
static void a(void *p) {} static void b(void *p) {} static void c(void *p) {}
void (*others[])(void *) = {c};
static ops table[] = {{1, a}, {2, 0}};
static void (*hook)(void *);
void set(void (*f)(void *)) { table[1].drop = b; %s }
void call(ops *o) { o->drop(o); }
void call_hook(void) { hook(0); }
int main(int n, char **v) { hook = c; return table[n].n; }
"""


def target_names(program: Program, caller: str) -> set[str]:
    return {name.partition("@")[0] for name in indirect_call(program, caller) or ()}


def test_a_member_holds_what_is_stored_into_it(facts_of: FactsOf) -> None:
    program = Program([facts_of(MEMBERS % "")], [linked(0)])
    assert target_names(program, "call") == {"a", "b"}
    assert target_names(program, "call_hook") == {"c"}


def test_a_member_that_is_set_from_outside_may_hold_anything(
    facts_of: FactsOf,
) -> None:
    unit = facts_of(MEMBERS % "table[0].drop = f; hook = f;")
    program = Program([unit], [linked(0)])
    assert target_names(program, "call") == {"a", "b", "c"}
    assert target_names(program, "call_hook") == {"a", "b", "c"}


def test_variables_of_one_name_in_two_units_are_apart(facts_of: FactsOf) -> None:
    text = (
        "static void f(void) {} static void (*hook)(void);\n"
        "void %s(void) { hook = f; hook(); }\n"
    )
    units = [facts_of(text % name, f"{name}.c") for name in ("one", "two")]
    program = Program(units, [linked(0, 1)])
    assert indirect_call(program, "one") != indirect_call(program, "two")
    assert len(indirect_call(program, "one") or ()) == 1


def test_functions_in_a_constant_table_come_first(facts_of: FactsOf) -> None:
    unit = facts_of(
        "static int make(int n) { return n; }\n"
        "static const struct { int (*create)(int); } ops = {make};\n"
        "int use(int n) { return ops.create(n); }\n"
    )
    program = Program([unit], [linked(0, closed=False)])
    assert [name.partition("@")[0] for name in program.callees("use")] == ["make"]


def test_library_functions_can_be_targets(facts_of: FactsOf) -> None:
    unit = facts_of(
        "void free(void *);\n"
        "static void each(void (*f)(void *), void *p) { f(p); }\n"
        "int main(void) { each(free, 0); return 0; }\n"
    )
    program = Program([unit], [linked(0)])
    each = program.callees("main")[0]
    assert indirect_call(program, each) == ("free",)


def test_a_library_may_be_handed_any_function(facts_of: FactsOf) -> None:
    unit = facts_of(
        "static int a(int x) { return x; } int (*kept)(int) = a;\n"
        "int call(int n) { return kept(n); }\n"
    )
    program = Program([unit], [linked(0, closed=False)])
    assert indirect_call(program, "call") is None


def test_a_program_that_loads_code_may_be_handed_any_function(
    facts_of: FactsOf,
) -> None:
    unit = facts_of(
        "void *dlsym(void *, const char *);\n"
        "static int a(int x) { return x; } int (*kept)(int) = a;\n"
        "void load(void *p) { kept = dlsym(p, 0); }\n"
        "int main(int n, char **v) { return kept(n); }\n"
    )
    assert indirect_call(Program([unit], [linked(0)]), "main") is None


def test_a_callback_is_called_by_the_function_it_is_given_to(
    facts_of: FactsOf,
) -> None:
    unit = facts_of(
        "#include <stdlib.h>\n"
        "static int order(const void *a, const void *b) { return a < b; }\n"
        "void sort(int *v, int n) { qsort(v, n, sizeof *v, order); }\n"
    )
    program = Program([unit])
    assert [name.partition("@")[0] for name in program.callees("sort")] == ["order"]


def test_variables_are_found_across_units(facts_of: FactsOf) -> None:
    units = [
        facts_of(
            "static int own = 1; extern int shared; int f(void) { return own + shared; }",
            "a.c",
        ),
        facts_of("int shared = 5; static int own; int g(void) { return own; }", "b.c"),
    ]
    program = Program(units)
    assert program.global_id(0, "shared") == program.global_id(1, "shared")
    assert program.global_id(0, "own") != program.global_id(1, "own")
    shared = program.variable(0, "shared")
    assert shared is not None
    assert shared.initialiser


ONLY_READ = """
int limit = 3;
static int own = 4;
static int handed = 5;
void look(const int *);
int sum(void) { look(&handed); return limit + own; }
"""


@pytest.mark.parametrize(
    ("other", "closed", "constants"),
    [
        ("extern int limit; int twice(void) { return 2 * limit; }", True, "limit own"),
        ("extern int limit; void raise(void) { limit++; }", True, "own"),
        ("extern int limit; int *place(void) { return &limit; }", True, "own"),
        ("extern int limit; int twice(void) { return 2 * limit; }", False, "own"),
    ],
)
def test_a_variable_that_nobody_changes_is_a_constant(
    other: str, closed: bool, constants: str, facts_of: FactsOf
) -> None:
    units = [facts_of(ONLY_READ, "a.c"), facts_of(other, "b.c")]
    program = Program(units, [linked(0, 1, closed=closed)])
    seen = [program.variable(0, name) for name in ("limit", "own", "handed")]
    found = [one.name for one in seen if one is not None and one.constant]
    assert found == constants.split()
    there = program.variable(1, "limit")
    assert there is not None
    assert there.constant == ("limit" in found)


def test_a_variable_has_the_type_its_definition_gives(facts_of: FactsOf) -> None:
    header = "struct node { struct node *next; int size; };\n"
    units = [
        facts_of("extern int list[]; int f(void) { return list[3]; }", "a.c"),
        facts_of(f"{header} struct node list = {{&list, 3}};", "b.c"),
    ]
    program = Program(units)
    variable = program.variable(0, "list")
    assert variable is not None
    types = program.units[0].types
    node = types[variable.type]
    assert (node.name, [field.name for field in node.fields]) == (
        "node",
        ["next", "size"],
    )
    assert types[types[node.fields[0].type].target] is node


OBJECTS = {Path(f"/b/{name}.o"): n for n, name in enumerate("abcd")}


def step(
    output: str, *inputs: str, closed: bool = True, libraries: tuple[str, ...] = ()
) -> LinkStep:
    paths = tuple(Path("/b") / name for name in inputs)
    return LinkStep(Path("/b") / output, paths, libraries, closed)


@pytest.mark.parametrize("given_by", ["path", "name"])
def test_archives_are_followed(given_by: str) -> None:
    archive = step("libx.a", "b.o", "c.o", closed=False)
    if given_by == "path":
        program = step("prog", "a.o", "libx.a", "d.o")
    else:
        program = step("prog", "a.o", "d.o", libraries=("x", "m"))
    units = link_units([archive, program], OBJECTS)
    assert [(unit.units, unit.closed) for unit in units] == [
        (frozenset({0, 1, 2, 3}), True)
    ]


def test_a_shared_library_is_seen_by_programs_and_stays_open() -> None:
    library = step("libx.so.1.2", "b.o", "c.o", closed=False)
    program = step("prog", "a.o", "libx.so", "d.o")
    units = {Path(u.output).name: u for u in link_units([library, program], OBJECTS)}
    assert units["prog"].units == {0, 1, 2, 3}
    assert units["libx.so.1.2"].units == {1, 2}
    assert not units["libx.so.1.2"].closed


def test_what_nothing_links_stays_together() -> None:
    units = link_units([step("prog", "a.o")], OBJECTS)
    assert [unit.units for unit in units] == [{0}, {1, 2, 3}]
    assert not units[-1].closed
