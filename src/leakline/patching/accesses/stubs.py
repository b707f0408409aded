"""Writes the code that an armed instruction jumps to (native/format/arm_plan.md)."""

from struct import pack

from leakline.patching.accesses.sites import Flow, Site
from leakline.patching.operands import encode

_RAX = 0
_SKIP_RED_ZONE = bytes.fromhex("488d642480 50")  # lea rsp, [rsp - 128]; push rax
_BACK_OVER_RED_ZONE = bytes.fromhex("58 488da42480000000")  # pop rax; lea rsp, ...
_LEGACY_PREFIXES = frozenset(bytes.fromhex("262e363e6465f2f3"))
_INDIRECT = 0xFF  # opcode of call and jump through memory
_REG_FIELD = 0x38
_JUMP_EXTENSION = 0x20


def stub(site: Site, number: int, place: int, gate: int) -> bytes:
    """Return the code for a site, to be placed at an address.

    Raises:
        OverflowError: The site or the gate cannot be reached from there.
    """
    notes = b"".join(
        _SKIP_RED_ZONE + _note(site, operand_index, number)
        for operand_index in range(len(site.operands))
    )
    head = b"\xe3" + bytes([len(notes)]) if site.repeats else b""
    code = bytearray(head + notes)
    _aim_calls(code, place, gate, head, len(site.operands))
    code += _original(site, place + len(code))
    return bytes(code)


def stub_size(site: Site) -> int:
    """Return the length of a site's code, which does not depend on the place."""
    return len(stub(site, 0, site.address, site.address))


def _note(site: Site, operand_index: int, number: int) -> bytes:
    """Return code that hands the operand's address and the site to the gate."""
    operand = site.operands[operand_index]
    address = encode(b"\x8d", _RAX, operand, at=0, wide=True)  # lea rax, operand
    push = b"\x68" + pack("<I", number)
    return address + push + b"\xe8" + bytes(4) + _BACK_OVER_RED_ZONE


def _aim_calls(code: bytearray, place: int, gate: int, head: bytes, count: int) -> None:
    """Let the calls of all notes lead to the gate."""
    length = (len(code) - len(head)) // count
    for i in range(count):
        end = len(head) + (i + 1) * length - len(_BACK_OVER_RED_ZONE)
        code[end - 4 : end] = _distance(gate, place + end)


def _original(site: Site, at: int) -> bytes:
    """Return the instruction itself and the way back."""
    back = site.address + len(site.code)
    match site.flow:
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
