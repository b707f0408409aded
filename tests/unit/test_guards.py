"""The table of guards of lens `pages` still speaks of the code and of tests."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "remove_guards", ROOT / "tools/remove_guards.py"
    )
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_every_guard_is_in_the_code_once_and_has_a_test() -> None:
    for guard in load_tool().read_guards():
        source = (ROOT / "native/runtime" / guard.file).read_text()
        assert source.count(guard.guard) == 1, guard.trap
        file, _, name = guard.test.partition("::")
        if guard.is_native:
            assert (ROOT / "native/tests" / f"{file}.c").exists(), guard.trap
        else:
            text = (ROOT / "tests/system" / file).read_text()
            assert f"def {name}(" in text, guard.trap
