"""Puts data, script and style together into one page that needs no other file.

The data is plain ASCII JSON in which no markup can begin or end, and the page's content
security policy allows only the script and the style that are written here. So a name in
a program can neither end the script nor become one.
"""

import base64
import hashlib
import html
import json
import shlex
from importlib.resources import files

from leakline.model.report import Report
from leakline.reports.html.contents import contents
from leakline.reports.privacy import Privacy

# In the order in which they need each other.
_SCRIPTS = (
    "words.js",
    "elements.js",
    "report.js",
    "filters.js",
    "list.js",
    "chart.js",
    "story.js",
    "source.js",
    "flame.js",
    "overview.js",
    "print.js",
    "main.js",
)
_STYLES = (
    "base.css",
    "overview.css",
    "list.css",
    "chart.css",
    "story.css",
    "source.css",
    "flame.css",
    "narrow.css",
    "print.css",
)
_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def render(report: Report, privacy: Privacy, suppressions: str | None = None) -> str:
    """The whole page, in plain ASCII."""
    script = "(() => {\n" + "\n".join(map(_part, _SCRIPTS)) + "})();\n"
    style = "\n".join(map(_part, _STYLES))
    document = contents(report, privacy, suppressions)
    command = shlex.join(map(privacy.text, report.run.command))
    values = {
        "POLICY": _policy(script, style),
        "TITLE": _ascii_markup(f"Leakline {command}".rstrip()),
        "STYLE": style,
        "DATA": json.dumps(document, separators=(",", ":")).translate(_MARKUP),
        "SCRIPT": script,
    }
    # One pass: what is put in is never searched for further names.
    pieces = _part("page.html").split("@@")
    pieces[1::2] = [values[name] for name in pieces[1::2]]
    return "".join(pieces)


def _part(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="ascii")


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src {_digest(script)}; "
        f"style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _ascii_markup(text: str) -> str:
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()
