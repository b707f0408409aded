"""Reports made by hand, with all that a report can hold."""

from dataclasses import replace

from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Fate,
    Finding,
    Handover,
    Kind,
    Loss,
    OtherPaths,
    PathStep,
    Staleness,
    StalePoint,
)
from leakline.model.report import (
    Comparison,
    Growth,
    HeapMoment,
    LensState,
    Process,
    Report,
    Run,
)
from leakline.model.stack import Frame, Naming, Stack

FOLDER = "/home/user/project"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
PROGRAM = f"{FOLDER}/build/inventory"

START = (
    Frame("__libc_start_call_main", module=LIBC, offset=0x27249, naming=Naming.SYMBOL),
    Frame("_start", module=PROGRAM, offset=0x1050, naming=Naming.SYMBOL),
)


def own(function: str, file: str, line: int, *, inlined: bool = False) -> Frame:
    return Frame(
        function, f"{FOLDER}/{file}", line, PROGRAM, 0x1000 + line, inlined=inlined
    )


MAKE_ITEM = Stack(
    (
        own("make_item", "src/list.c", 3),
        own("append", "src/list.c", 9, inlined=True),
        own("main", "src/main.c", 12),
        *START,
    )
)
COPY_NAME = Stack(
    (
        Frame("strdup", module=LIBC, offset=0xA1B2C, naming=Naming.SYMBOL),
        own("make_item", "src/list.c", 4),
        own("append", "src/list.c", 9, inlined=True),
        own("main", "src/main.c", 12),
        *START,
    )
)
DEEP = Stack(
    (
        Frame(
            "std::vector<item>::_M_realloc_insert(item const&)",
            "/usr/include/c++/12/bits/vector.tcc",
            440,
            PROGRAM,
            0x2200,
            inlined=True,
            symbol="_ZNSt6vectorI4itemE17_M_realloc_insertERKS0_",
        ),
        own("walk(tree const&)", "src/tree.cpp", 31),
        own("main", "src/main.c", 20),
    ),
    folded_at=2,
)
STRIPPED = Stack(
    (
        Frame(
            "plugin_init",
            module="/opt/app/plugin.so",
            offset=0x9F0,
            naming=Naming.NEAREST,
        ),
        Frame(module="/opt/app/plugin.so", offset=0x77, naming=Naming.NONE),
    ),
    stopped="there is no unwind table",
)


def reach(  # noqa: PLR0913 (a finding has that many parts)
    identity: str,
    kind: Kind,
    blocks: int,
    size: int,
    allocation: Stack,
    *,
    indirect: tuple[int, int] = (0, 0),
    leader: Stack | None = None,
    processes: tuple[int, ...] = (4711,),
    notes: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        id=identity,
        engines=(Engine.REACH,),
        kind=kind,
        confidence=Confidence.EXACT,
        blocks=blocks,
        bytes=size,
        allocation=allocation,
        indirect_blocks=indirect[0],
        indirect_bytes=indirect[1],
        leader=leader,
        processes=processes,
        notes=notes,
    )


LOST = reach("a1", Kind.LOST, 10, 1920, MAKE_ITEM, indirect=(30, 15640))
INDIRECT = reach(
    "b2", Kind.INDIRECT, 30, 15640, COPY_NAME, leader=MAKE_ITEM, processes=(4711, 4712)
)
FOLDED = reach(
    "c3",
    Kind.LOST,
    1,
    64,
    DEEP,
    notes=("only the dead variable `old` of walk still holds the address",),
)
REACHABLE = reach("d4", Kind.REACHABLE, 1, 72704, STRIPPED)
PROCESSES = (
    Process(
        *(4711, ("./inventory", "--all"), "exit 0", 42, 90328, 120_456, 150_000),
        timeline=(HeapMoment(0.5, 12, 4096, 0), HeapMoment(1.25, 42, 90328, 17624)),
    ),
    Process(4712, ("sh", "-c", "true"), "exit 0", 0, 0, 311),
)
LENSES = (
    ("reach", LensState.ACTIVE),
    ("loss", LensState.OFF),
    ("pages", LensState.OFF),
    ("accesses", LensState.OFF),
)
RUN = Run(
    ("./inventory", "--all"),
    0,
    LENSES,
    (
        (
            "Process 4713 ran /sbin/ldconfig, which is statically linked: it could not be "
            "watched."
        ),
    ),
    PROCESSES,
)
EVIDENCE = Finding(
    id="e5",
    engines=(Engine.REACH, Engine.LOSS, Engine.PAGES),
    kind=Kind.LOST,
    confidence=Confidence.LIKELY,
    blocks=2,
    bytes=48,
    allocation=MAKE_ITEM,
    birth=Stack((own("remember", "src/cache.c", 8),)),
    loss=Loss(Cause.OVERWRITTEN, Stack((own("refresh", "src/cache.c", 15),)), "cache"),
    last_access=Stack((own("look_up", "src/cache.c", 22),)),
    sibling_frees=(Stack((own("forget", "src/cache.c", 30),)),),
    staleness=Staleness(1.5, 9.0),
    drag_byte_s=432.0,
    stale_curve=(StalePoint(0.5, 0), StalePoint(2.0, 1), StalePoint(9.0, 2)),
    path=(
        PathStep(f"{FOLDER}/src/list.c", 3, "allocated here"),
        PathStep(f"{FOLDER}/src/cache.c", 15, "overwritten here", 4),
    ),
    processes=(4711,),
    handovers=(
        Handover("show", f"{FOLDER}/src/cache.c", 13, Fate.READS),
        Handover("adopt", f"{FOLDER}/src/cache.c", 14, Fate.READS, Fate.KEEPS),
    ),
    other_paths=OtherPaths(
        on_every_path=True,
        released=(Frame("refresh", f"{FOLDER}/src/cache.c", 11),),
    ),
    release="drop_item",
    advice="free it before `refresh` overwrites `cache`",
    other_ids=("s5",),
)
HOSTILE_NAME = "evil\x1b]0;owned\x07\x9b2J\u202efdp.c\udcff\n"
HOSTILE = reach(
    f"f6{HOSTILE_NAME}",
    Kind.LOST,
    1,
    1,
    Stack(
        (
            Frame(HOSTILE_NAME, f"/srv/{HOSTILE_NAME}", 1, f"/srv/{HOSTILE_NAME}", 1),
            Frame(module=f"/srv/{HOSTILE_NAME}", naming=Naming.NONE),
        ),
        stopped=HOSTILE_NAME,
    ),
    notes=(HOSTILE_NAME,),
)

REPORTS = {
    "clean": Report(Run(("./inventory",), 0, LENSES, (), PROCESSES[:1]), ()),
    "leaky": Report(
        RUN,
        (LOST, FOLDED, INDIRECT),
        suppressed=(("known-plugin-leak", REACHABLE),),
        unused_suppressions=("old entry (project.supp:12)",),
    ),
    "reachable": Report(RUN, (REACHABLE,), hidden=(LOST, INDIRECT)),
    "evidence": Report(
        replace(RUN, remarks=("Process 4711: uses are told apart by a page.",)),
        (EVIDENCE,),
    ),
    "compared": Report(
        RUN,
        (FOLDED,),
        comparison=Comparison(
            "last-week.json",
            known=(LOST, INDIRECT),
            grown=(Growth(replace(LOST, blocks=7, bytes=1344), LOST),),
            gone=(replace(LOST, id="g7", allocation=STRIPPED),),
        ),
    ),
    "unwatched": Report(
        Run(
            ("./server",),
            None,
            (("reach", LensState.UNAVAILABLE), ("loss", LensState.OFF)),
            ("The heap's address range was not to be had, so nothing was watched.",),
        ),
        (),
    ),
    "hostile": Report(
        Run((HOSTILE_NAME,), 1, LENSES, (HOSTILE_NAME,), PROCESSES),
        (HOSTILE,),
        unused_suppressions=(HOSTILE_NAME,),
    ),
}
