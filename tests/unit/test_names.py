import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.reports.names import readable_name

STRING = (
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"
)
OLD_STRING = STRING.removesuffix(">>") + "> >"

PAIRS = f"std::allocator<std::pair<{STRING} const, int>>"
MAP = f"std::map<{STRING}, int, std::less<{STRING}>, {PAIRS}>"


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("main", "main"),
        (f"f({STRING} const&)", "f(std::string const&)"),
        (f"f({OLD_STRING} const&)", "f(std::string const&)"),
        ("std::vector<int, std::allocator<int>>::f()", "std::vector<int>::f()"),
        (f"{MAP}::at(int)", "std::map<std::string, int>::at(int)"),
        (
            "std::unique_ptr<a, std::default_delete<a>>::~unique_ptr()",
            "std::unique_ptr<a>::~unique_ptr()",
        ),
        ("std::allocator<int>::allocate(unsigned long)",) * 2,
        ("f(int, std::allocator<int> const&)",) * 2,
        ("f(int, std::allocator<int>, int)",) * 2,
        ("f(int, std::allocator<int>)",) * 2,
        ("f(std::vector<int, my::pool<int>>)",) * 2,
        ("std::vector<int, std::allocator<", "std::vector<int, std::allocator<"),
    ],
)
def test_names_lose_what_the_standard_library_fills_in(
    name: str, readable: str
) -> None:
    assert readable_name(name) == readable


@given(
    st.lists(
        st.sampled_from(
            ["std::", "allocator<", ", std::allocator<", ">", "->", "x", " ", "<"]
        )
    ).map("".join)
)
def test_any_name_comes_back_no_longer_than_before(name: str) -> None:
    assert len(readable_name(name)) <= len(name)
