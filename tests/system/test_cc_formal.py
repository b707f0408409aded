"""Programs of the abstract language lose their blocks where its semantics says.

What is tried here keeps the test short; `make bench-formal` tries thousands.
"""

import tempfile
from pathlib import Path

from benchmarks.formal.comparison import differences, other_births, prepared
from benchmarks.formal.language import Scope
from benchmarks.formal.programs import programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .compiled import compile_text, watch_json

EXAMPLES = 3
PROGRAMS_AT_ONCE = 12


@given(listed=st.lists(programs(), min_size=1, max_size=PROGRAMS_AT_ONCE))
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_losses_are_where_the_semantics_has_them(listed: list[Scope]) -> None:
    text, machines = prepared(listed)
    with tempfile.TemporaryDirectory() as folder:
        for optimisation in ("-O0", "-O2"):
            program = compile_text(text, Path(folder), optimisation)
            report = watch_json(program, Path(folder))
            assert differences(machines, report) == [], optimisation
        program = compile_text(text, Path(folder), "-O2", "--births")
        report = watch_json(program, Path(folder), "--births")
        assert differences(machines, report) == []
        assert other_births(machines, report) == []
