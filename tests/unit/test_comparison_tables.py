"""The tables that are filled from the raw numbers of the benchmarks."""

import pytest
from benchmarks.comparison import Raw, UnusableNumbersError, filled, ratios

PEERS: Raw = {
    "gzip": {
        "plain": [[2.0, 100], [4.0, 100]],
        "leakline": [[2.0, 110], [4.4, 130]],
        "memcheck": [[40.0, 900]],
    },
    "lua": {"plain": [[1.0, 50]], "leakline": [[1.5, 65]], "own": [[1, 1]]},
}
LATER: Raw = {
    "gzip": {"plain": [[1.0, 10]], "leakline": [[3.0, 12]], "pages": [[1.0, 11]]}
}
PAGE = "before\n<!-- filled: {} -->\nold\n<!-- end -->\nafter\n"


def rows(name: str, *runs: Raw) -> list[str]:
    page = filled(PAGE.format(name), ratios(runs))
    before, mark, *table, end, after = page.splitlines()
    assert (before, end, after) == ("before", "<!-- end -->", "after")
    assert mark == f"<!-- filled: {name} -->"
    return table


def test_only_what_was_measured_has_a_column() -> None:
    assert rows("cpu", PEERS) == [
        "| CPU | `reach` | memcheck |",
        "| --- | --- | --- |",
        "| gzip | 1.05 | 20 |",
        "| lua | 1.50 | - |",
    ]


def test_a_later_run_replaces_its_modes_with_ratios_of_its_own() -> None:
    assert rows("cpu", PEERS, LATER)[2:] == [
        "| gzip | 3.00 | 1.00 | 20 |",
        "| lua | 1.50 | - | - |",
    ]


def test_ends_are_named() -> None:
    assert rows("memory_span", PEERS) == [
        "| peak memory | least | middle | most |",
        "| --- | --- | --- | --- |",
        "| `reach` | 1.20 (gzip) | 1.25 | 1.30 (lua) |",
        "| memcheck | 9.00 (gzip) | 9.00 | 9.00 (gzip) |",
    ]


def test_numbers_without_a_plain_run_are_refused() -> None:
    with pytest.raises(UnusableNumbersError, match="gzip was not measured"):
        ratios([{"gzip": {"leakline": [[1.0, 1.0]]}}])


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(UnusableNumbersError, match="there is no table 'sizes'"):
        filled(PAGE.format("sizes"), {})
