"""One table of call stacks for all processes of a run.

Each process numbers its nodes for itself and has its modules at its own addresses. Here
a stack is the same number whenever it has the same calls in the same modules, so that
findings of several processes can be merged.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from leakline.dynamic.process_log import ProcessLog, decode_text
from leakline.recording._format import ModuleRecord, Node, NodeRecord
from leakline.symbols.resolve import Address, Module

NO_MODULE = Module("", b"")
RUNTIME_NAME = "libleakline.so"

ADDRESS_MASK = (1 << 64) - 1

# The runtime keeps at most 256 frames; a longer path is made up.
DEPTH_LIMIT = 1024


class Call(NamedTuple):
    """One frame of a stack, as numbers.

    Attributes:
        parent: The caller's number, 0 at the outermost frame.
        address: Index of the call's address, 0 where frames were left out.
        flags: `Node` bits.
        reason: `Stop` value, with `Node.STOPPED`.
    """

    parent: int
    address: int
    flags: int
    reason: int


@dataclass(slots=True)
class StackTable:
    """Calls by number, addresses by index; number 0 is the empty stack."""

    calls: list[Call] = field(default_factory=lambda: [Call(0, 0, 0, 0)])
    addresses: list[Address] = field(default_factory=lambda: [Address(NO_MODULE, 0)])
    _numbers: dict[Call, int] = field(default_factory=dict)
    _indexes: dict[Address, int] = field(default_factory=dict)

    def add(self, call: Call) -> int:
        """The number of a call, new or known."""
        number = self._numbers.get(call)
        if number is None:
            number = self._numbers[call] = len(self.calls)
            self.calls.append(call)
        return number

    def add_address(self, address: Address) -> int:
        """The index of an address, new or known."""
        index = self._indexes.get(address)
        if index is None:
            index = self._indexes[address] = len(self.addresses)
            self.addresses.append(address)
        return index

    def path(self, number: int) -> list[Call]:
        """The stack, innermost call first."""
        table = self.calls
        calls: list[Call] = []
        while number and len(calls) < DEPTH_LIMIT:
            call = table[number]
            calls.append(call)
            number = call.parent
        return calls

    def used_addresses(self, numbers: Iterable[int]) -> set[int]:
        """Indexes of all addresses on the way from some stacks to their roots."""
        seen: set[int] = set()
        for start in numbers:
            number = start
            while number and number not in seen:
                seen.add(number)
                number = self.calls[number].parent
        return {self.calls[number].address for number in seen} - {0}


@dataclass(slots=True)
class ProcessStacks:
    """Translates the node ids of one process into numbers of the table.

    Frames of the runtime are left out, as if it were not there: it stands between a
    signal handler and the code that was interrupted in `malloc`, or under a function
    that ends with `exit`.
    """

    log: ProcessLog
    table: StackTable
    _numbers: dict[int, int] = field(default_factory=lambda: {0: 0})
    _modules: dict[int, tuple[Module, int]] = field(default_factory=dict)
    _indexes: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def number(self, node_id: int) -> int:
        """The number of the stack that ends in a node; 0 when it is not known."""
        numbers = self._numbers
        if node_id in numbers:
            return numbers[node_id]
        pending = self._unknown_path(node_id)
        for node in reversed(pending):
            parent = numbers.get(node.parent, 0)
            if parent and self._is_runtime(node):
                numbers[node.id] = parent
            else:
                numbers[node.id] = self.table.add(self._call(node, parent))
        return numbers.setdefault(node_id, 0)

    def _unknown_path(self, node_id: int) -> list[NodeRecord]:
        """Nodes not translated yet; a damaged file may hold a ring."""
        pending: list[NodeRecord] = []
        seen = set()
        while node_id not in self._numbers and node_id not in seen:
            node = self.log.nodes.get(node_id)
            if node is None:
                break
            seen.add(node_id)
            pending.append(node)
            node_id = node.parent
        return pending

    def _is_runtime(self, node: NodeRecord) -> bool:
        module, _ = self._module(node.module)
        return bool(node.pc) and PurePosixPath(module.path).name == RUNTIME_NAME

    def _call(self, node: NodeRecord, parent: int) -> Call:
        address = self._address(node) if node.pc else 0
        return Call(parent, address, node.flags, node.reason)

    def _address(self, node: NodeRecord) -> int:
        place = (node.module, node.pc, node.flags & Node.EXACT_PC)
        index = self._indexes.get(place)
        if index is None:
            module, base = self._module(node.module)
            # A return address may already belong to the next line or function.
            offset = node.pc - base - (0 if place[2] else 1)
            address = Address(module, offset & ADDRESS_MASK)
            index = self._indexes[place] = self.table.add_address(address)
        return index

    def _module(self, module_id: int) -> tuple[Module, int]:
        known = self._modules.get(module_id)
        if known is None:
            record = self.log.modules.get(module_id)
            known = _describe(record) if record is not None else (NO_MODULE, 0)
            self._modules[module_id] = known
        return known


def _describe(record: ModuleRecord) -> tuple[Module, int]:
    build_id = record.text[: record.build_id_length]
    path = decode_text(record.text[record.build_id_length :])
    return Module(path, build_id), record.base
