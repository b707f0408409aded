"""Writes the code that an armed instruction jumps to (native/format/arm_plan.md)."""

from collections.abc import Sequence
from struct import pack

from leakline.patching.accesses.sites import Flow, Site
from leakline.patching.eviction import Plain, moved
from leakline.patching.operands import encode

_RAX = 0
_OVER_RED_ZONE = bytes.fromhex("488d642480")  # lea rsp, [rsp - 128]
_PUSH_RAX = b"\x50"
_LEGACY_PREFIXES = frozenset(bytes.fromhex("262e363e6465f2f3"))
_INDIRECT = 0xFF  # opcode of call and jump through memory
_REG_FIELD = 0x38
_JUMP_EXTENSION = 0x20

ENTRY_STUB_BYTES = 20

# One instruction that a stub runs.
Step = Site | Plain


def stub(steps: Sequence[Step], number: int, place: int, gate: int) -> bytes:
    """Return the code that runs some neighbours, to be placed at an address.

    Args:
        steps: In their order; the last one is a site.
        number: Of the first site; those after it have the next ones.
        place: Of the stub. Its size does not depend on it.
        gate: Which all notes call.

    Raises:
        OverflowError: Something cannot be reached from there.
    """
    code = bytearray()
    for step in steps:
        if isinstance(step, Site):
            code += _notes(step, number, place + len(code), gate)
            number += 1
        at = place + len(code)
        if step is steps[-1]:
            code += _original(step, at)
        elif isinstance(step, Plain):
            code += moved(step.code, step.displacement_at, step.address - at)
        else:
            code += step.code
    return bytes(code)


def entry_stub(entry: int, number: int, place: int, gate: int) -> bytes:
    """Return the code that an entry jumps to, of ENTRY_STUB_BYTES.

    The gate goes back over the red zone when the bytes of the entry are there again.
    """
    code = _OVER_RED_ZONE + b"\x68" + pack("<I", number)
    code += b"\xe8" + _distance(gate, place + len(code) + 5)
    return code + b"\xe9" + _distance(entry, place + len(code) + 5)


def jump_to(distance: int) -> bytes:
    """Return a jump that leads so far from its end."""
    return b"\xe9" + pack("<i", distance)


def stub_size(steps: Sequence[Step]) -> int:
    """Return the length of the code for some steps."""
    at = steps[0].address
    return len(stub(steps, 0, at, at))


def _notes(site: Site, number: int, place: int, gate: int) -> bytes:
    """Return code that hands the operands' addresses and the site to the gate.

    The gate puts back what is pushed here and goes back over the red zone.
    """
    head = 2 if site.repeats else 0
    code = bytearray()
    for operand in site.operands:
        code += _OVER_RED_ZONE + _PUSH_RAX
        code += encode(b"\x8d", _RAX, operand, at=0, wide=True)  # lea rax, operand
        code += b"\x68" + pack("<I", number)
        code += b"\xe8" + _distance(gate, place + head + len(code) + 5)
    # jrcxz: a string instruction that does nothing touches nothing.
    return (b"\xe3" + bytes([len(code)]) if head else b"") + bytes(code)


def _original(site: Step, at: int) -> bytes:
    """Return the instruction itself and the way back."""
    back = site.address + len(site.code)
    match site.flow if isinstance(site, Site) else Flow.NEXT:
        case Flow.NEXT:
            jump = at + len(site.code) + 5
            return site.code + b"\xe9" + _distance(back, jump)
        case Flow.JUMP:
            return site.code
        case Flow.CALL:
            # push rax; lea rax, back; xchg [rsp], rax: the callee returns to the
            # original code, as unwinders expect.
            lea = b"\x50\x48\x8d\x05" + _distance(back, at + 8)
            return lea + b"\x48\x87\x04\x24" + _as_jump(site.code)


def _as_jump(call: bytes) -> bytes:
    """Turn a call through memory into a jump through memory."""
    code = bytearray(call)
    at = 0
    while code[at] in _LEGACY_PREFIXES or code[at] & 0xF0 == 0x40:  # noqa: PLR2004 - REX
        at += 1
    if code[at] != _INDIRECT:
        raise OverflowError
    code[at + 1] = code[at + 1] & ~_REG_FIELD | _JUMP_EXTENSION
    return bytes(code)


def _distance(target: int, end: int) -> bytes:
    distance = target - end
    if not -(1 << 31) <= distance < 1 << 31:
        raise OverflowError
    return pack("<i", distance)
