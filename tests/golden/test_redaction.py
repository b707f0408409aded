"""What --strip-path takes out, in every format."""

from dataclasses import replace
from pathlib import Path

import pytest

from leakline.cli import formats
from leakline.model.report import Process, Report
from leakline.model.stack import Frame, Stack
from leakline.reports import text
from leakline.reports.privacy import Privacy
from leakline.reports.redaction import redact
from leakline.reports.style import Style

from .samples import EVIDENCE, LENSES, LOST, RUN

CUSTOMER = "/srv/secret-customer"
FRAME = Frame("f", f"{CUSTOMER}/app/a.c", 2, f"{CUSTOMER}/app/prog", 16)


def secret_report() -> Report:
    process = Process(1, (f"{CUSTOMER}/app/prog", f"--data={CUSTOMER}/x"), "exit 0")
    run = replace(
        RUN,
        command=process.command,
        processes=(process,),
        not_seen=(f"Process 1 ({CUSTOMER}/app/prog) was not seen.",),
        lenses=LENSES,
    )
    closure = replace(FRAME, function=f"f(){{lambda {CUSTOMER}/app/a.c:2}}")
    stack = Stack((closure,), stopped=f"no table in {CUSTOMER}/lib/x.so")
    finding = replace(
        EVIDENCE,
        allocation=stack,
        birth=stack,
        notes=(f"See {CUSTOMER}/app/a.c.",),
        path=tuple(replace(step, file=f"{CUSTOMER}/b.c") for step in EVIDENCE.path),
    )
    return Report(
        run,
        (finding,),
        suppressed=((f"old ({CUSTOMER}/my.supp:3)", replace(LOST, allocation=stack)),),
    )


def stripped() -> Report:
    return redact(secret_report(), Privacy(Path("/"), (CUSTOMER,))).report


@pytest.mark.parametrize("name", sorted(set(formats.MODULES) - formats.BINARY))
def test_no_format_names_the_stripped_folder(name: str) -> None:
    assert b"secret-customer" in formats.render(name, secret_report(), Path("/"))
    assert b"secret-customer" not in formats.render(name, stripped(), Path("/"))


def test_text_quotes_the_source_of_stripped_paths(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/a.c").write_text("int x;\nchar *p = malloc(1);\n")
    frame = replace(FRAME, file=str(tmp_path / "app/a.c"), module="")
    report = Report(RUN, (replace(LOST, allocation=Stack((frame,))),))
    shown, originals = redact(report, Privacy(Path("/"), (str(tmp_path),)))
    style = Style(Path("/"), originals=originals)
    written = text.render(shown, style)
    assert "f  app/a.c:2" in written
    assert "char *p = malloc(1);" in written
    quiet = text.render(shown, replace(style, with_source=False))
    assert "malloc(1)" not in quiet
    assert str(tmp_path) not in written + quiet


def test_without_prefixes_the_report_is_left_alone() -> None:
    report = secret_report()
    assert redact(report, Privacy(Path("/"))).report is report
