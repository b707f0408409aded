import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakline.symbols.demangle import LENGTH_LIMIT, demangle, demangle_one


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_ZN4shop5ShelfIiE4takeEi", "shop::Shelf<int>::take(int)"),
        ("_ZN4shop5serveEi.isra.0.cold", "shop::serve(int)"),
        ("read_all.part.0", "read_all"),
        ("__GI___libc_malloc", "__libc_malloc"),
        ("strdup@@GLIBC_2.2.5", "strdup"),
        ("_RNvC6_123foo3bar", "123foo::bar"),
        (
            "_ZN4core6option15Option$LT$T$GT$6unwrap17h0123456789abcdefE",
            "core::option::Option<T>::unwrap",
        ),
        (
            "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            "std::rt::lang_start::{{closure}}",
        ),
        ("_Znot_a_name", "_Znot_a_name"),
        ("", ""),
    ],
)
def test_names_read_as_people_write_them(symbol: str, name: str) -> None:
    assert demangle_one(symbol) == name
    assert demangle([symbol]) == {symbol: name}


def test_very_long_names_stay_as_they_are() -> None:
    symbol = "_Z1f" + "P" * LENGTH_LIMIT + "i"
    assert demangle_one(symbol) == symbol


def exploding(levels: int) -> str:
    """A name whose readable form doubles with each level."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    parts = [f"S_IS{digits[level]}_S{digits[level]}_E" for level in range(levels)]
    return "_Z1f1aIiiE" + "".join(parts)


def test_names_made_to_explode_do_no_harm() -> None:
    bomb, long_name = exploding(34), exploding(12)
    names = demangle([bomb, long_name, "_Z1fi"])
    assert names[bomb] == bomb
    assert names[long_name].startswith("f(a<int, int>")
    assert names["_Z1fi"] == "f(int)"


@given(st.text(max_size=60).map(lambda text: "_Z" + text))
def test_any_text_has_a_name(symbol: str) -> None:
    assert isinstance(demangle_one(symbol), str)
