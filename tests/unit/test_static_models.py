"""The model language, and the models that come with Leakline."""

from pathlib import Path

import pytest

from leakline.errors import CheckError
from leakline.static.facts import Declaration, Release
from leakline.static.models.language import Model, Owned, Result, Success, parse
from leakline.static.models.library import declared_model, load_models


def model(text: str) -> Model:
    (found,) = parse(text, "test.models")
    return found


def test_the_papers_language_is_understood() -> None:
    assert model("malloc { return heapobj }").owned == (Owned(-1, "free"),)
    assert model("printf { ignored }") == Model("printf")
    assert model("random { return int }").result is Result.NOTHING_KNOWN
    assert model("strchr { return pointer }").result is Result.POINTER
    assert model("open { return at least -1 }").least == -1
    strcat = model("strcat { return @1 }")
    assert (strcat.result, strcat.result_argument) == (Result.ARGUMENT, 0)


def test_results_through_arguments_carry_their_success() -> None:
    found = model("getaddrinfo { *@4 = heapobj freeaddrinfo or null; success zero }")
    assert found.owned == (Owned(3, "freeaddrinfo", may_be_null=True),)
    assert found.success is Success.ZERO


def test_one_line_may_name_several_functions() -> None:
    found = list(parse("a b c { free @2 }  # comment", "test.models"))
    assert [each.name for each in found] == ["a", "b", "c"]
    assert {each.frees[0].argument for each in found} == {1}


@pytest.mark.parametrize(
    "text", ["malloc return heapobj", "f { explode @1 }", "f { success perhaps }"]
)
def test_a_bad_line_is_named(text: str) -> None:
    with pytest.raises(CheckError, match=r"my\.models:2"):
        list(parse(f"# first\n{text}", "my.models"))


def test_four_hundred_functions_are_known() -> None:
    models = load_models()
    assert len(models.by_name) >= 400
    for name in ("malloc", "fopen", "g_strdup", "SSL_new", "curl_easy_init"):
        assert models.get(name) is not None


def test_every_family_has_a_release_function() -> None:
    models = load_models().by_name.values()
    given = {owned.family for each in models for owned in each.owned}
    freed = {item.family for each in models for item in each.frees}
    kept = {"g_string_free", "g_ptr_array", "g_array", "json_object_put", "pcre_free"}
    assert given - freed <= kept


def test_user_files_win_over_built_in_models(tmp_path: Path) -> None:
    path = tmp_path / "mine.models"
    path.write_text("malloc { ignored }\npool_new { return heapobj pool_free }\n")
    models = load_models([path])
    assert models.get("malloc") == Model("malloc", asked_for=True)
    assert models.get("pool_new") is not None


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"absent\.models"):
        load_models([tmp_path / "absent.models"])


def test_attributes_in_headers_become_models() -> None:
    declaration = Declaration(
        name="pool_new",
        display="pool_new",
        signature="p()",
        variadic=False,
        returns=0,
        parameters=(),
        attributes=frozenset({"malloc"}),
        releases=(Release("pool_free", 0),),
    )
    found = declared_model(declaration)
    assert found is not None
    assert found.owned[0].family == "pool_free"
