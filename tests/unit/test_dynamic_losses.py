"""Parts of how a loss is told: names of slots, threads of libraries, C++ objects."""

import pytest

from leakline.dynamic.own_references import is_own_reference
from leakline.dynamic.slots import one_name
from leakline.dynamic.thread_ends import program_function
from leakline.model.stack import Frame, Stack

LIBRARY = "/usr/lib/libstdc++.so.6"
ROUTINE = Frame("execute_native_thread_routine", module=LIBRARY)
INVOKE = Frame("std::__invoke<void>()", "/usr/include/c++/12/bits/invoke.h", 96, "/p")
WORKER = Frame("worker", "/home/a.cpp", 11, "/p")
MAKE = Frame("make", "/home/a.cpp", 5, "/p")


@pytest.mark.parametrize(
    ("names", "name", "others"),
    [
        ([None, None], None, ""),
        (["p", None, "p"], "p", ""),
        (["t[3]", "t[4]", "*t"], "t[...]", ""),
        (["o->a", "o->b[1]", "o->b[2]"], "o->a", "`o->b[...]`"),
        (["a", "b", "c", "d", "e", "f"], "a", "`b`, `c`, `d`, 2 other slots"),
    ],
)
def test_several_slots_get_one_name(
    names: list[str | None], name: str | None, others: str
) -> None:
    assert one_name(names) == (name, others)


def test_a_thread_of_a_library_is_named_by_the_program_s_outermost_function() -> None:
    allocation = Stack((MAKE, WORKER, INVOKE, ROUTINE, Frame("start_thread")))
    found = program_function(Stack((ROUTINE,)), allocation)
    assert found is not None
    assert [(one.function, one.line) for one in found.frames] == [
        ("worker", 0),
        (INVOKE.function, 96),
        (ROUTINE.function, 0),
    ]


def test_what_another_thread_allocated_says_nothing_about_a_thread() -> None:
    assert program_function(Stack((ROUTINE,)), Stack((MAKE, Frame("main")))) is None
    assert program_function(Stack((WORKER,)), Stack((MAKE, WORKER))) is None


@pytest.mark.parametrize(
    ("function", "is_own"),
    [
        ("std::string::_M_data(char*)", True),
        ("void std::__cxx11::basic_string<char>::_M_construct<char*>(char*)", True),
        ("std::vector<std::string>::clear()", False),
        ("Label::set()", False),
    ],
)
def test_a_string_overwrites_the_reference_to_its_own_buffer(
    *, function: str, is_own: bool
) -> None:
    loss = Stack((Frame(function), WORKER))
    assert is_own_reference(loss, Stack((MAKE,))) is is_own
    text = Stack((Frame("std::__new_allocator<char>::allocate()"), Frame(function)))
    assert not is_own_reference(loss, text if is_own else Stack((MAKE,)))


@pytest.mark.parametrize(
    ("function", "is_own"),
    [
        ("std::_Rb_tree_insert_and_rebalance(bool, std::_Rb_tree_node_base*)", True),
        ("std::__detail::_List_node_base::_M_hook(std::_List_node_base*)", True),
        ("std::_Hashtable<int, std::pair<int, int>>::_M_rehash_aux(int)", True),
        ("std::_Rb_tree_rebalance_for_erase(std::_Rb_tree_node_base*)", False),
        ("std::__detail::_List_node_base::_M_unhook()", False),
    ],
)
def test_only_inserting_elements_loses_nothing(*, function: str, is_own: bool) -> None:
    assert is_own_reference(Stack((Frame(function), WORKER)), Stack((MAKE,))) is is_own
