"""Which registers count as holders of a reference, by what is done with them later."""

import pytest
from iced_x86 import Decoder

from leakline.patching.liveness import RAX, RDI, RDX, live_before
from leakline.symbols.machine_code import MachineCode

CALL = bytes.fromhex("e800100000")
SET_RDI_AND_RSI = bytes.fromhex("31ff31f6")
RET = b"\xc3"


def function_of(code: bytes) -> MachineCode:
    decoded = {one.ip: one for one in Decoder(64, code)}
    return MachineCode(0, len(code), decoded)


def live_after_call(*instructions: bytes) -> int:
    """The registers that are alive behind a call, by the code that follows it."""
    function = function_of(CALL + b"".join(instructions) + RET)
    return live_before(function, returned_words=0)[len(CALL)]


def test_what_a_call_leaves_in_rdx_is_no_argument_of_the_next_one() -> None:
    assert live_after_call(CALL) & (RAX | RDX | RDI) == 0


def test_the_second_part_of_a_result_may_be_the_third_argument() -> None:
    assert live_after_call(SET_RDI_AND_RSI, CALL) & (RAX | RDX | RDI) == RDX


@pytest.mark.parametrize(
    ("returned_words", "alive"), [(0, 0), (1, RAX), (2, RAX | RDX)]
)
def test_a_function_leaves_as_many_words_as_it_returns(
    returned_words: int, alive: int
) -> None:
    live = live_before(function_of(RET), returned_words=returned_words)[0]
    assert live & (RAX | RDX) == alive


def test_a_result_that_is_read_is_alive() -> None:
    test_rdx = bytes.fromhex("4885d2")
    assert live_after_call(test_rdx) & (RAX | RDX) == RDX
