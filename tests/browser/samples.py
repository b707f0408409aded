"""A small project with sources, and a report about it with all kinds of evidence."""

from pathlib import Path

from leakline.model.finding import (
    Cause,
    Confidence,
    Engine,
    Finding,
    Kind,
    Loss,
    PathStep,
    Staleness,
    StalePoint,
)
from leakline.model.report import HeapMoment, LensState, Process, Report, Run
from leakline.model.stack import Frame, Naming, Stack

LIBRARY = Frame(
    "strdup", module="/usr/lib/libc.so.6", offset=0xA1, naming=Naming.SYMBOL
)
RUN = Run(
    ("./stock", "--all"),
    0,
    (("reach", LensState.ACTIVE), ("loss", LensState.ACTIVE)),
    ("Process 12 ran /sbin/ldconfig: it could not be watched.",),
    (
        Process(
            *(11, ("./stock", "--all"), "exit 0", 42, 90328, 120_456, 150_000),
            timeline=(
                HeapMoment(0.5, 10, 20_000, 0),
                HeapMoment(1.0, 30, 70_000, 400),
                HeapMoment(2.5, 42, 90_328, 1718),
            ),
        ),
    ),
)


def write_sources(folder: Path) -> None:
    """Two small files and one that is too long to be embedded whole."""
    for name, count in {"list.c": 40, "cache.c": 40, "long.c": 5000}.items():
        stem = name.removesuffix(".c")
        lines = [f"int {stem}_line_{number};" for number in range(1, count + 1)]
        (folder / name).write_text("\n".join(lines) + "\n")


def project_report(folder: Path) -> Report:
    """Five findings: one with a whole story, one of each kind, one without source."""
    return Report(RUN, tuple(_findings(folder)))


def finding(  # noqa: PLR0913 (a finding has that many parts)
    identity: str,
    kind: Kind,
    blocks: int,
    size: int,
    *frames: Frame,
    indirect: tuple[int, int] = (0, 0),
    leader: Stack | None = None,
) -> Finding:
    """What the lens `reach` knows."""
    return Finding(
        identity,
        (Engine.REACH,),
        kind,
        Confidence.EXACT,
        blocks,
        size,
        Stack(frames),
        indirect_blocks=indirect[0],
        indirect_bytes=indirect[1],
        leader=leader,
    )


def _findings(folder: Path) -> list[Finding]:
    def at(function: str, file: str, line: int) -> Frame:
        return Frame(function, str(folder / file), line, str(folder / "stock"), line)

    main = at("main", "long.c", 2500)
    make_item = (at("make_item", "list.c", 3), main)
    return [
        Finding(
            "story",
            (Engine.REACH, Engine.LOSS),
            Kind.LOST,
            Confidence.LIKELY,
            blocks=2,
            bytes=48,
            allocation=Stack(make_item),
            birth=Stack((at("remember", "cache.c", 8), main)),
            loss=Loss(
                Cause.OVERWRITTEN, Stack((at("refresh", "cache.c", 15), main)), "cache"
            ),
            last_access=Stack((at("look_up", "cache.c", 22), main)),
            sibling_frees=(Stack((at("forget", "cache.c", 30), main)),),
            staleness=Staleness(1.5, 9.0),
            drag_byte_s=4320.0,
            stale_curve=(StalePoint(1.5, 1), StalePoint(9.0, 2)),
            path=(PathStep(str(folder / "list.c"), 7, "the copy is made"),),
            advice="free it before `refresh` overwrites `cache`",
        ),
        finding("head", Kind.LOST, 1, 1000, *make_item, indirect=(30, 600)),
        finding(
            "held",
            Kind.INDIRECT,
            30,
            600,
            LIBRARY,
            at("copy_name", "list.c", 9),
            main,
            leader=Stack(make_item),
        ),
        finding("kept", Kind.REACHABLE, 4, 72704, at("open_log", "cache.c", 2), main),
        finding("plugin", Kind.LOST, 7, 70, Frame(module="/opt/plugin.so", offset=9)),
    ]
