"""Wall and allocation clocks beside the processor time of idle blocks."""

from leakline.dynamic.idleness import Idleness, Passed
from leakline.dynamic.pages import passed_since
from leakline.recording._format import ClocksRecord

READINGS = [
    ClocksRecord(100, 1000, 10),
    ClocksRecord(200, 5000, 60),
    ClocksRecord(300, 9000, 70),
    ClocksRecord(400, 9500, 100),
]


def test_a_reading_after_the_blocks_became_idle_counts() -> None:
    assert passed_since(READINGS, 250) == Passed(4500, 40)


def test_a_reading_at_that_very_moment_may_be_too_early() -> None:
    assert passed_since(READINGS, 200) == Passed(500, 30)


def test_nothing_is_known_to_have_passed_since_the_last_reading() -> None:
    assert passed_since(READINGS, 10) == Passed(0, 0)


def test_without_readings_nothing_is_said() -> None:
    assert passed_since([], 250) is None


def test_the_least_of_all_blocks_is_told() -> None:
    idle = Idleness(passed=Passed(10, 5))
    idle.add(Idleness(passed=Passed(7, 9)))
    idle.add(Idleness())
    assert idle.passed == Passed(7, 5)
