"""Writes XML as text: ASCII only, so that it is right in every encoding."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from leakline.reports.printable import printable

HEADER = '<?xml version="1.0"?>'


def element(name: str, text: object) -> str:
    """An element that holds text."""
    return f"<{name}>{_ascii(escape(printable(str(text))))}</{name}>"


def lines_element(name: str, lines: Iterable[str], /, **attributes: object) -> str:
    """An element that holds lines of text."""
    content = "\n".join(escape(printable(line)) for line in lines)
    return f"{start(name, **attributes)}{_ascii(content)}</{name}>"


def start(name: str, /, **attributes: object) -> str:
    """A start tag."""
    return f"<{name}{_attributes(attributes)}>"


def _attributes(attributes: dict[str, object]) -> str:
    return "".join(
        f" {key}={_ascii(quoteattr(printable(str(value))))}"
        for key, value in attributes.items()
    )


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode()
