from leakline.dynamic.findings import make_findings
from leakline.dynamic.merge import GroupKey, Groups, HeapGroup
from leakline.dynamic.same_lines import SameLines, merge_same_lines
from leakline.dynamic.stack_table import Call, StackTable
from leakline.dynamic.stacks import StackBuilder
from leakline.model.finding import Finding, Kind
from leakline.model.stack import Frame, Naming
from leakline.symbols.resolve import Address, Module

PROGRAM = Module("/usr/bin/prog", b"1")


def frame(function: str, line: int, **more: object) -> Frame:
    values = {"file": "/src/a.c", "module": "/usr/bin/prog", **more}
    return Frame(function=function, line=line, **values)  # type: ignore[arg-type]  # passed on


def findings(*stacks: list[Frame], kind: Kind = Kind.LOST) -> tuple[Finding, ...]:
    """One group of one block for each stack; frames are given innermost first."""
    table = StackTable()
    frames: dict[int, tuple[Frame, ...]] = {}
    groups: Groups = {}
    for stack in stacks:
        number = 0
        for one in reversed(stack):
            address = table.add_address(Address(PROGRAM, len(table.addresses)))
            frames[address] = (one,)
            number = table.add(Call(number, address, 0, 0))
        groups[GroupKey(kind, number, 0)] = HeapGroup(1, 10, pids={1})
    merged = merge_same_lines(groups, list(groups), SameLines(table, frames))
    return make_findings(merged, StackBuilder(table, frames))


def names(*stacks: list[Frame], kind: Kind = Kind.LOST) -> list[str]:
    return [finding.id for finding in findings(*stacks, kind=kind)]


def test_copies_of_one_line_are_one_finding() -> None:
    stack = [frame("copy", 4), frame("main", 9)]
    (finding,) = findings(stack, list(stack), list(stack))
    assert (finding.blocks, finding.bytes) == (3, 30)


def test_calls_without_lines_are_told_apart_by_address() -> None:
    one = frame("copy", 0, offset=0x10, naming=Naming.SYMBOL)
    other = frame("copy", 0, offset=0x20, naming=Naming.SYMBOL)
    assert len(findings([one], [other])) == 2


def test_a_fingerprint_survives_moved_lines_and_moved_folders() -> None:
    before = [frame("copy", 4), frame("main", 9)]
    after = [
        frame("copy", 40, file="/build/x/a.c", offset=7),
        frame("main", 90, module="/opt/bin/prog"),
    ]
    assert names(before) == names(after)


def test_a_fingerprint_depends_on_kind_functions_and_files() -> None:
    base = names([frame("copy", 4)])
    assert names([frame("copy", 4)], kind=Kind.REACHABLE) != base
    assert names([frame("move", 4)]) != base
    assert names([frame("copy", 4, file="/src/b.c")]) != base
    assert names([frame("copy", 4, module="/usr/bin/other")]) != base
    assert names([frame("copy", 4), frame("main", 1)]) != base


def test_the_depth_of_a_recursion_does_not_change_the_fingerprint() -> None:
    leaf, even, odd, root = (frame(name, 1) for name in ("leaf", "even", "odd", "main"))
    shallow = [leaf, even, odd, root]
    deep = [leaf, even, odd, even, odd, even, odd, root]
    assert names(shallow) == names(deep)


def test_stacks_that_differ_in_recursion_are_one_finding() -> None:
    left, right, root = frame("build", 5), frame("build", 6), frame("main", 20)
    leaf = frame("build", 3)
    short, long = [leaf, left, root], [leaf, right, left, right, root]
    (finding,) = findings(short, long)
    assert finding.blocks == 2
    assert [one.line for one in finding.allocation.frames] == [3, 5, 20]
    assert "2 call stacks that differ in their recursion only" in finding.notes[0]


def test_two_lines_of_one_function_have_names_of_their_own() -> None:
    (alone,) = names([frame("copy", 4)])
    both = names([frame("copy", 4)], [frame("copy", 8)])
    assert sorted(both) == [alone, f"{alone}-2"]


def test_frames_of_the_allocator_are_left_out() -> None:
    new = frame("operator new(unsigned long)", 0, module="/lib/libstdc++.so.6", file="")
    (finding,) = findings([new, frame("make", 3), frame("main", 9)])
    assert [one.function for one in finding.allocation.frames] == ["make", "main"]


def test_wrappers_of_the_program_stay() -> None:
    (finding,) = findings(
        [frame("xmalloc", 3), frame("operator new(unsigned long)", 4)]
    )
    assert len(finding.allocation.frames) == 2


def test_a_nearest_name_is_no_proof_of_an_allocator_frame() -> None:
    near = frame(
        "operator new(unsigned long)",
        0,
        module="/lib/libstdc++.so.6",
        naming=Naming.NEAREST,
    )
    (finding,) = findings([near, frame("main", 9)])
    assert len(finding.allocation.frames) == 2


def test_the_order_does_not_depend_on_the_recording() -> None:
    stacks = [[frame(name, 1)] for name in "cab"]
    assert names(*stacks) == names(*reversed(stacks))
