"""What the tests of real programs print, counted."""

from benchmarks.suites import tally

AUTOMAKE = """\
# TOTAL: 22
# PASS:  19
# SKIP:  1
# XFAIL: 1
# FAIL:  1
# XPASS: 0
# ERROR: 0
"""
AUTOMAKE_LOG = f"""\
========================================
   diffutils 3.8: tests/test-suite.log
========================================

{AUTOMAKE}
.. contents:: :depth: 2

FAIL: strip-trailing-cr
"""
DEJAGNU = """\
		=== find Summary ===

# of expected passes		300
# of unexpected failures	2
# of unsupported tests		3
"""
SQLITE = """\
0 errors out of 185 tests on host Linux 64-bit little-endian
2 errors out of 50 tests on host Linux 64-bit little-endian
"""
CTEST = """\
30/30 Test #30: env_posix_test ...................   Passed    0.04 sec

97% tests passed, 1 tests failed out of 30

Total Test time (real) =  89.27 sec
"""


def test_verdicts_of_all_frameworks_are_added_up() -> None:
    assert tally(AUTOMAKE + DEJAGNU + SQLITE + CTEST) == {
        "passed": 19 + 300 + 185 + 48 + 29,
        "skipped": 1 + 3,
        "failed as expected": 1,
        "failed": 1 + 2 + 0 + 2 + 1,
    }


def test_the_log_of_failures_is_not_counted_again() -> None:
    assert tally(AUTOMAKE_LOG + AUTOMAKE) == tally(AUTOMAKE)


def test_output_without_verdicts_counts_nothing() -> None:
    assert not tally("checking for gcc... gcc\n# comment: 5\n")
