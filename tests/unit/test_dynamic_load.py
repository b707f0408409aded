from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leakline.dynamic.load import ALL_KINDS, load, load_with_suppressions
from leakline.model.finding import Finding, Kind
from leakline.model.report import LensState, Report
from leakline.recording._format import (
    ExecFailedRecord,
    ExecRecord,
    ForkRecord,
    Group,
    GroupRecord,
    HeapTotalsRecord,
    ModuleRecord,
    Node,
    NodeRecord,
    NotSeen,
    NotSeenRecord,
    OptionRecord,
    Origin,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
    SamplingRecord,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    SpawnRecord,
    Stop,
    SuppressionsRecord,
    Trigger,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

MODULE = "/no/such/program"


@dataclass
class Writing:
    """A recording in the making."""

    path: Path
    data: bytes = field(default_factory=encode_file_header)
    sequences: dict[tuple[ProcessKey, int], int] = field(default_factory=dict)

    def add(self, process: ProcessKey, *records: Record, writer: int = 0) -> None:
        sequence = self.sequences.get((process, writer), 0)
        self.sequences[process, writer] = sequence + 1
        self.data += encode_chunk(process, sequence, records, writer=writer)

    def load(self, **options: object) -> Report:
        self.path.write_bytes(self.data)
        return load(self.path, show=ALL_KINDS, **options)  # type: ignore[arg-type]  # passed on


@pytest.fixture
def recording(tmp_path: Path) -> Writing:
    return Writing(tmp_path / "recording")


def start(pid: int, command: str = "prog", origin: int = Origin.EXEC) -> Record:
    text = f"/bin/{command}\0{command}\0-x".encode()
    return ProcessStartRecord(pid, 1, origin, 0, 0, text)


def module(number: int, base: int, path: str = MODULE) -> Record:
    return ModuleRecord(number, 0, base, base, base + 0x10000, 0, 0, path.encode())


def stack(base: int, *offsets: int, first: int = 1) -> list[Record]:
    """Nodes of one stack, outermost first; the last one has the largest id."""
    return [
        NodeRecord(first + index, first + index - 1 if index else 0, base + at, 1, 0, 0)
        for index, at in enumerate(offsets)
    ]


def begin(number: int = 1, trigger: int = Trigger.EXIT) -> Record:
    return SnapshotBeginRecord(number, trigger, 0, 1, 0, 0, 0, 0)


def group(kind: int, node: int, blocks: int, leader: int = 0) -> Record:
    return GroupRecord(kind, node, leader, 0, 0, 0, blocks, blocks * 10, 0, 0, 4096)


def end(number: int = 1) -> list[Record]:
    return [HeapTotalsRecord(5, 50, 9, 4, 100, 200, 1), SnapshotEndRecord(number, 1)]


def ended(trigger: int = Trigger.EXIT, status: int = 0) -> Record:
    return ProcessEndRecord(trigger, status, 0)


def one_leak(base: int, blocks: int = 2) -> list[Record]:
    look = [begin(), group(Group.LOST, 2, blocks), *end(), ended()]
    return [module(1, base), *stack(base, 0x100, 0x200), *look]


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_processes_that_leak_at_one_place_are_one_finding(recording: Writing) -> None:
    for pid, base in ((10, 0x5000_0000), (11, 0x7000_0000)):
        recording.add(ProcessKey(pid, pid), start(pid), *one_leak(base))
    report = recording.load()
    finding = only(report.findings)
    assert (finding.blocks, finding.bytes, finding.processes) == (4, 40, (10, 11))
    assert [frame.offset for frame in finding.allocation.frames] == [0x1FF, 0xFF]
    assert [process.ended for process in report.run.processes] == ["exit 0", "exit 0"]
    assert report.run.command == ("/bin/prog", "-x")
    assert report.run.lenses[0] == ("reach", LensState.ACTIVE)


def test_only_the_asked_process_is_reported(recording: Writing) -> None:
    for pid in (10, 11):
        recording.add(ProcessKey(pid, pid), start(pid), *one_leak(0x5000_0000, pid))
    assert only(recording.load(pid=11).findings).blocks == 11
    assert "12 wrote nothing" in only_text(recording.load(pid=12))


def only_text(report: Report) -> str:
    (text,) = report.run.not_seen
    return text


def test_a_process_that_was_asked_for_may_go_on_running(recording: Writing) -> None:
    recording.add(ProcessKey(10, 10), start(10), *one_leak(0x5000_0000)[:-1])
    assert "still running" in recording.load().run.not_seen[0]
    assert not any("running" in text for text in recording.load(pid=10).run.not_seen)


@pytest.mark.parametrize("contradictions", [0, 3])
def test_bounds_of_two_lenses_that_contradict_each_other_are_told(
    recording: Writing, contradictions: int
) -> None:
    sampling = SamplingRecord(9, 90, 2, 10_000_000, 1_000_000, 5, contradictions)
    look = [begin(), sampling, *end(), ended()]
    recording.add(ProcessKey(10, 10), start(10), *look)
    said = " ".join(recording.load().run.not_seen)
    assert ("contradicts itself about 3 blocks" in said) == bool(contradictions)


def test_indirect_blocks_name_their_leader(recording: Writing) -> None:
    base = 0x5000_0000
    look = [
        begin(),
        GroupRecord(Group.LOST, 2, 0, 0, 0, 0, 1, 10, 3, 30, 4096),
        group(Group.INDIRECT, 1, 3, leader=2),
        *end(),
        ended(),
    ]
    nodes = [module(1, base), *stack(base, 0x100, 0x200)]
    recording.add(ProcessKey(10, 10), start(10), *nodes, *look)
    lost, indirect = recording.load().findings
    assert (lost.kind, lost.indirect_blocks, lost.indirect_bytes) == (Kind.LOST, 3, 30)
    assert indirect.kind is Kind.INDIRECT
    assert indirect.leader == lost.allocation


def test_kinds_that_are_not_shown_are_counted(recording: Writing) -> None:
    base = 0x5000_0000
    look = [begin(), group(Group.LOST, 2, 1), group(Group.REACHABLE, 1, 7)]
    ignored = group(Group.IGNORED, 1, 100)
    nodes = [module(1, base), *stack(base, 0x100, 0x200)]
    recording.add(ProcessKey(1, 1), start(1), *nodes, *look, ignored, *end(), ended())
    recording.load()
    report = load(recording.path)
    assert only(report.findings).kind is Kind.LOST
    hidden = only(report.hidden)
    assert (hidden.kind, hidden.blocks, hidden.bytes) == (Kind.REACHABLE, 7, 70)


def test_the_last_complete_look_counts(recording: Writing) -> None:
    key = ProcessKey(10, 10)
    recording.add(key, start(10), *one_leak(0x5000_0000)[:3])
    recording.add(key, begin(1), group(Group.LOST, 2, 1), *end(1))
    recording.add(key, begin(2), group(Group.LOST, 2, 2), *end(2))
    recording.add(key, begin(3), group(Group.LOST, 2, 99))
    report = recording.load()
    assert only(report.findings).blocks == 2
    assert any("killed, or still running" in text for text in report.run.not_seen)


def test_a_copy_that_looks_does_not_mix_with_its_process(recording: Writing) -> None:
    key = ProcessKey(10, 10)
    recording.add(key, start(10), *one_leak(0x5000_0000)[:3])
    recording.add(key, begin(1), group(Group.LOST, 2, 1), writer=50)
    recording.add(key, begin(2), group(Group.LOST, 2, 2))
    recording.add(key, group(Group.LOST, 1, 9), *end(1), writer=50)
    recording.add(key, *end(2), ended())
    assert only(recording.load().findings).blocks == 2


def test_a_look_that_was_cut_short_is_used_and_said(recording: Writing) -> None:
    recording.add(ProcessKey(10, 10), start(10), *one_leak(0x5000_0000)[:-3])
    report = recording.load()
    assert only(report.findings).blocks == 2
    assert any("are incomplete" in text for text in report.run.not_seen)


def test_the_look_before_a_failed_exec_does_not_count(recording: Writing) -> None:
    key = ProcessKey(10, 10)
    recording.add(key, start(10), *one_leak(0x5000_0000)[:3])
    recording.add(key, begin(1, Trigger.DEMAND), group(Group.LOST, 2, 1), *end(1))
    recording.add(key, begin(2, Trigger.EXEC), group(Group.LOST, 2, 5), *end(2))
    recording.add(key, ExecRecord(b"/no/such/program"), ExecFailedRecord(2, 0))
    report = recording.load()
    assert only(report.findings).blocks == 1
    assert not any("was not watched" in text for text in report.run.not_seen)


def test_an_exec_into_a_watched_program_is_no_gap(recording: Writing) -> None:
    recording.add(ProcessKey(10, 1), start(10), begin(), *end(), ExecRecord(b"/bin/x"))
    recording.add(ProcessKey(10, 2), start(10, "x"), begin(), *end(), ended())
    report = recording.load()
    assert report.run.not_seen == ()
    assert [process.ended for process in report.run.processes] == ["exec", "exit 0"]
    assert report.run.exit_code == 0


@pytest.fixture
def static_program(compiled: Callable[..., Path]) -> Path:
    return compiled("int main(void) { return 0; }\n", "-static")


def test_programs_that_never_reported_are_named_with_the_reason(
    recording: Writing, static_program: Path, tmp_path: Path
) -> None:
    setuid = tmp_path / "setuid"
    setuid.write_bytes(static_program.read_bytes())
    setuid.chmod(0o4755)
    script = tmp_path / "script"
    script.write_text(f"#!{static_program} -f\n")
    recording.add(
        ProcessKey(10, 1),
        start(10),
        ForkRecord(77, 0),
        SpawnRecord(20, 0, str(static_program).encode()),
        SpawnRecord(21, 0, str(static_program).encode()),
        SpawnRecord(22, 0, str(setuid).encode()),
        SpawnRecord(23, 0, str(script).encode()),
        *one_leak(0x5000_0000),
    )
    text = "\n".join(recording.load().run.not_seen)
    assert f"{static_program} was not watched (2 runs): it is a static" in text
    assert f"{setuid} was not watched: it gains privileges" in text
    assert f"it is a script for {static_program}, and it is a static" in text
    assert "1 forked process left no report (pid 77)" in text


def test_unwatched_children_are_no_gap_when_asked_for(recording: Writing) -> None:
    recording.add(
        ProcessKey(10, 1),
        start(10),
        OptionRecord(b"children=0"),
        SpawnRecord(20, 0, b"/bin/true"),
        *one_leak(0x5000_0000),
    )
    texts = recording.load().run.not_seen
    assert (
        "Programs that were started by others were not watched, as asked for." in texts
    )
    assert not any("/bin/true" in text for text in texts)


def test_what_the_runtime_did_not_see_is_passed_on(recording: Writing) -> None:
    sentence = b"thread 12 could not be stopped"
    record = NotSeenRecord(NotSeen.THREAD, 12, sentence)
    recording.add(ProcessKey(10, 1), start(10), record, record)
    recording.add(ProcessKey(10, 1), *one_leak(0x5000_0000))
    texts = recording.load().run.not_seen
    assert "Process 10 (/bin/prog): thread 12 could not be stopped (2 times)." in texts


def test_stacks_say_where_they_are_folded_or_stopped(recording: Writing) -> None:
    base = 0x5000_0000
    nodes: list[Record] = [
        NodeRecord(1, 0, base + 0x100, 1, Node.STOPPED, Stop.EXPRESSION),
        NodeRecord(2, 1, 0, 0, Node.FOLDED, 0),
        NodeRecord(3, 2, base + 0x200, 1, Node.EXACT_PC, 0),
        NodeRecord(4, 3, base + 0x300, 1, 0, 0),
    ]
    look = [begin(), group(Group.LOST, 4, 1), *end(), ended()]
    recording.add(ProcessKey(1, 1), start(1), module(1, base), *nodes, *look)
    report = recording.load()
    found = only(report.findings).allocation
    assert [frame.offset for frame in found.frames] == [0x2FF, 0x200, 0xFF]
    assert found.folded_at == 2
    assert "expression" in found.stopped
    assert any("1 call stack ends early" in text for text in report.run.not_seen)


def test_between_a_handler_and_what_it_interrupted_stands_the_signal_alone(
    recording: Writing,
) -> None:
    base, own = 0x5000_0000, 0x7000_0000
    nodes: list[Record] = [
        NodeRecord(1, 0, base + 0x100, 1, 0, 0),
        NodeRecord(2, 1, own + 0x200, 2, 0, 0),
        NodeRecord(3, 2, own + 0x300, 2, Node.EXACT_PC, 0),
        NodeRecord(4, 3, base + 0x400, 1, Node.SIGNAL, 0),
        NodeRecord(5, 4, base + 0x500, 1, 0, 0),
    ]
    modules = [module(1, base), module(2, own, "/no/such/libleakline.so")]
    look = [begin(), group(Group.LOST, 5, 1), *end(), ended()]
    recording.add(ProcessKey(1, 1), start(1), *modules, *nodes, *look)
    frames = only(recording.load().findings).allocation.frames
    assert [frame.offset for frame in frames] == [0x4FF, 0x3FF, 0xFF]
    assert [frame.function for frame in frames] == ["", "<signal handler called>", ""]


def test_a_ring_of_nodes_in_a_damaged_file_ends(recording: Writing) -> None:
    base = 0x5000_0000
    nodes: list[Record] = [
        NodeRecord(1, 2, base + 0x100, 1, 0, 0),
        NodeRecord(2, 1, base + 0x200, 1, 0, 0),
    ]
    look = [begin(), group(Group.LOST, 2, 1), group(99, 7, 1), *end()]
    recording.add(ProcessKey(1, 1), start(1), module(1, base), *nodes, *look)
    assert len(only(recording.load().findings).allocation.frames) == 2


def test_an_empty_recording_says_that_nothing_was_watched(recording: Writing) -> None:
    report = recording.load()
    assert report.findings == ()
    assert "nothing was watched" in report.run.not_seen[0]
    assert report.run.command == ()


def test_a_signal_is_named_and_gives_the_shells_exit_code(recording: Writing) -> None:
    recording.add(ProcessKey(1, 1), start(1), begin(), *end())
    recording.add(ProcessKey(1, 1), ended(Trigger.SIGNAL, 15))
    report = recording.load()
    assert report.run.processes[0].ended == "signal 15 (SIGTERM)"
    assert report.run.exit_code == 143


def test_an_end_that_nobody_saw_has_no_exit_code(recording: Writing) -> None:
    recording.add(ProcessKey(1, 1), start(1), begin(), *end())
    recording.add(ProcessKey(1, 1), ended(Trigger.PROGRAM, 0xFFFFFFFF))
    report = recording.load()
    assert report.run.processes[0].ended == "unknown: it closed itself off"
    assert report.run.exit_code is None


def test_suppressions_of_the_program_are_handed_on(recording: Writing) -> None:
    text = SuppressionsRecord(b"leak:known")
    recording.add(ProcessKey(1, 1), start(1), text, *one_leak(0x5000_0000))
    recording.load()
    loaded = load_with_suppressions(recording.path)
    assert loaded.suppressions == ("leak:known",)


def test_damage_is_said(recording: Writing) -> None:
    recording.add(ProcessKey(1, 1), start(1), *one_leak(0x5000_0000))
    recording.data += b"rubbish" * 10
    texts = recording.load().run.not_seen
    assert any(
        text.startswith("70 bytes of the recording are damaged") for text in texts
    )


def test_progress_is_reported_stage_by_stage(recording: Writing) -> None:
    recording.add(ProcessKey(1, 1), start(1), *one_leak(0x5000_0000))
    calls: list[tuple[str, int, int]] = []
    recording.load(progress=lambda *call: calls.append(call))
    size = len(recording.data)
    assert calls[0] == ("reading the recording", size, size)
    assert [stage for stage, _, _ in calls] == [
        "reading the recording",
        "naming addresses",
        "sorting findings",
    ]
