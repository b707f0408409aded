from collections.abc import Callable
from pathlib import Path

import pytest

from leakline.dynamic.dead_slots import DeadSlots, move_dead
from leakline.dynamic.merge import GroupKey, Groups, HeapGroup, group_at
from leakline.dynamic.process_log import ProcessLog, Snapshot
from leakline.dynamic.stack_table import ProcessStacks, StackTable
from leakline.model.finding import Kind
from leakline.recording._format import (
    ModuleRecord,
    NodeRecord,
    SnapshotBeginRecord,
    StackHeldRecord,
)
from leakline.recording.chunks import ProcessKey
from leakline.symbols.dwarf_unit import open_units
from leakline.symbols.elf import read_elf
from leakline.symbols.resolve import Address, Module, debug_files
from leakline.symbols.symbol_table import read_symbol_table
from leakline.symbols.variables import FrameVariables, Variable, frame_variables

SCOPES = """
#include <stdlib.h>
struct large { char *pointer; char rest[60]; };
static void use(void *pointer) { *(char *)pointer = 1; }
void scopes(int count) {
    if (count) { char *ended = malloc(1); use(ended); }
    { struct large big; big.pointer = malloc(2); use(big.pointer); }
    char *alive = malloc(3);
    use(alive);
    exit(0);
}
int main(int count, char **words) { (void)words; scopes(count); }
"""

Compile = Callable[..., Path]


def at_exit(program: Path) -> Address:
    """The last call of `scopes`, which never returns."""
    elf = read_elf(program)
    table = read_symbol_table(elf)
    last = max(
        address + size - 1
        for address, size in zip(table.addresses, table.sizes, strict=True)
        if (named := table.find(address)) is not None and named.symbol == "scopes"
    )
    return Address(Module(str(program), elf.build_id), last)


def variables_of(program: Path) -> FrameVariables:
    address = at_exit(program)
    units = open_units(debug_files(address.module))
    assert units is not None
    found = frame_variables(units, address.offset)
    assert found is not None
    return found


def variable(program: Path, name: str) -> Variable:
    (found,) = [one for one in variables_of(program).variables if one.name == name]
    return found


@pytest.fixture(params=["-gdwarf-4", "-gdwarf-5"])
def program(request: pytest.FixtureRequest, compiled: Compile) -> Path:
    return compiled(SCOPES, "-O0", "-fno-stack-protector", str(request.param))


def test_scopes_and_places_of_variables_are_read(program: Path) -> None:
    frame = variables_of(program)
    assert frame.function == "scopes"
    scopes = {one.name: (one.size_bytes, one.in_scope) for one in frame.variables}
    assert scopes == {
        "count": (4, True),
        "ended": (8, False),
        "big": (72, False),
        "alive": (8, True),
    }


def test_a_variable_whose_scope_has_ended_is_dead(program: Path) -> None:
    ended = variable(program, "ended")
    reason = DeadSlots().why_dead(at_exit(program), ended.cfa_offset)
    assert reason == "`ended` of scopes"


@pytest.mark.parametrize("name", ["alive", "big"])
def test_a_live_or_large_variable_is_not_called_dead(program: Path, name: str) -> None:
    offset = variable(program, name).cfa_offset
    assert DeadSlots().why_dead(at_exit(program), offset) == ""


def test_a_slot_without_a_variable_is_not_called_dead(program: Path) -> None:
    assert DeadSlots().why_dead(at_exit(program), -4096) == ""


@pytest.mark.parametrize(
    "flags",
    [
        ("-O1", "-g"),
        ("-O2", "-g"),
        ("-O0", "-g", "-fstack-protector-all"),
        ("-O0", "-g", "-gno-record-gcc-switches"),
        ("-O0", "-g", "-fno-stack-protector", "-Wl,--build-id=none"),
        ("-O0",),
    ],
)
def test_other_code_is_never_judged(compiled: Compile, flags: tuple[str, ...]) -> None:
    program = compiled(SCOPES, *flags)
    address = at_exit(program)
    judge = DeadSlots()
    assert [judge.why_dead(address, offset) for offset in range(-256, 0, 8)] == [
        ""
    ] * 32


def test_an_optimised_function_in_other_code_is_never_judged(
    compiled: Compile,
) -> None:
    text = SCOPES.replace("void scopes", '__attribute__((optimize("O2"))) void scopes')
    program = compiled(text, "-O0", "-g", "-fno-stack-protector")
    judge = DeadSlots()
    reasons = [judge.why_dead(at_exit(program), offset) for offset in range(-256, 0, 8)]
    assert reasons == [""] * 32


def test_too_much_debug_information_is_left_unread_and_counted(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakline.dynamic.dead_slots.UNITS_LIMIT_BYTES", 10)
    judge = DeadSlots()
    assert judge.why_dead(at_exit(program), variable(program, "ended").cfa_offset) == ""
    assert judge.unjudged_frames == 1


FRAME, OUTER, INNER = 1, 2, 3


def move(
    program: Path, held: list[StackHeldRecord], counted_under: tuple[int, int]
) -> Groups:
    """Judges blocks of two places, both reachable, held as the records say."""
    address = at_exit(program)
    log = ProcessLog(ProcessKey(1, 1))
    text = address.module.build_id + str(program).encode()
    length = len(address.module.build_id)
    log.modules[1] = ModuleRecord(1, 0, 0x1000, 0, 1 << 40, length, 0, text)
    returns_to = 0x1000 + address.offset + 1
    log.nodes[FRAME] = NodeRecord(FRAME, 0, returns_to, 1, 0, 0)
    log.nodes[OUTER] = NodeRecord(OUTER, FRAME, 0x2000, 1, 0, 0)
    log.nodes[INNER] = NodeRecord(INNER, FRAME, 0x2100, 1, 0, 0)
    stacks = ProcessStacks(log, StackTable())
    groups: Groups = {}
    for node, blocks in zip(counted_under, (5, 1), strict=True):
        key = GroupKey(Kind.REACHABLE, stacks.number(node), 0)
        group_at(groups, key).add(HeapGroup(blocks, blocks * 10, pids={1}))
    snapshot = Snapshot(SnapshotBeginRecord(1, 1, 0, 1, 0, 0, 0, 0), held=held)
    move_dead(groups, log, snapshot, stacks, DeadSlots())
    return groups


@pytest.mark.parametrize("counted_under", [(OUTER, INNER), (0, 0)])
def test_blocks_held_by_dead_slots_are_lost(
    program: Path, counted_under: tuple[int, int]
) -> None:
    dead = variable(program, "ended").cfa_offset
    groups = move(
        program,
        [
            StackHeldRecord(OUTER, FRAME, 1, 7, dead, 2, 20, 0),
            StackHeldRecord(INNER, FRAME, 0, 7, dead, 1, 8, 0),
        ],
        counted_under,
    )
    by_kind = {key.kind: group for key, group in groups.items()}
    assert by_kind[Kind.REACHABLE].blocks == 3
    lost = by_kind[Kind.LOST]
    assert (lost.blocks, lost.bytes, lost.indirect_blocks) == (2, 20, 1)
    assert "`ended` of scopes" in lost.notes[0]
    assert (by_kind[Kind.INDIRECT].blocks, by_kind[Kind.INDIRECT].bytes) == (1, 8)


def test_one_slot_that_may_be_alive_keeps_the_block_reachable(program: Path) -> None:
    dead = variable(program, "ended").cfa_offset
    alive = variable(program, "alive").cfa_offset
    groups = move(
        program,
        [
            StackHeldRecord(OUTER, FRAME, 1, 7, dead, 2, 20, 0),
            StackHeldRecord(OUTER, FRAME, 1, 7, alive, 2, 20, 0),
        ],
        (OUTER, INNER),
    )
    assert {key.kind for key in groups} == {Kind.REACHABLE}
    assert sum(group.blocks for group in groups.values()) == 6


def test_types_of_all_sorts_have_their_size(compiled: Compile) -> None:
    text = """
    #include <stdlib.h>
    typedef struct { char *a; int b; } pair;
    enum colour { red };
    void scopes(int count) {
        const volatile short small = 1; pair two = {0}; char words[3][5]; enum colour c = red;
        char *restrict many[2]; void (*call)(int) = scopes; static long fixed;
        (void)small; (void)two; (void)words; (void)c; (void)many; (void)call; (void)fixed;
        exit(count);
    }
    int main(int count, char **words) { (void)words; scopes(count); }
    """
    program = compiled(text, "-O0", "-g", "-fno-stack-protector")
    sizes = {one.name: one.size_bytes for one in variables_of(program).variables}
    assert sizes == {
        "count": 4,
        "small": 2,
        "two": 16,
        "words": 15,
        "c": 4,
        "many": 16,
        "call": 8,
    }


def test_an_array_of_unknown_length_gives_no_answer(compiled: Compile) -> None:
    text = SCOPES.replace("char *alive", "char row[count]; use(row); char *alive")
    program = compiled(text, "-O0", "-g", "-fno-stack-protector")
    judge = DeadSlots()
    reasons = {judge.why_dead(at_exit(program), at) for at in range(-256, 0, 8)}
    assert reasons == {""}
