import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.dynamic.plain_names import plain_name


@pytest.mark.parametrize(
    ("inlined", "full"),
    [
        ("main", "main"),
        ("lose", "(anonymous namespace)::lose()"),
        ("lose<double>", "void (anonymous namespace)::lose<double>()"),
        ("lose<void (*)(int)>", "void lose<void (*)(int)>(void (*)(int))"),
        ("operator()", "main::'lambda'()::operator()() const"),
        ("operator[]", "std::map<int, long>::operator[](int const&)"),
        ("operator<<", "std::ostream& operator<<(std::ostream&, item const&)"),
        ("operator new", "operator new(unsigned long)"),
        ("fill", "Box<std::vector<int, std::allocator<int>>>::fill(int) &"),
        ("inner", "outer(int)::Local::inner()"),
        ("f", "f(int) [clone .part.0]"),
        ("~Box", "Box<int>::~Box()"),
    ],
)
def test_inlined_and_full_names_have_one_plain_name(inlined: str, full: str) -> None:
    assert plain_name(inlined) == plain_name(full)


def test_different_functions_keep_different_names() -> None:
    names = ["f", "g()", "f<int>()", "f<long>()", "operator+(a, a)", "operator-(a, a)"]
    assert len({plain_name(name) for name in names}) == len(names)


@given(st.text("ab:<>(){} ,&*'", max_size=30))
def test_any_name_has_a_plain_name(function: str) -> None:
    assert bool(plain_name(function)) is bool(function.strip(" ") or function)
