"""Archives that a build made unseen: what they hold is read from the files.

CMake calls `ar` by its full path, which no stand-in notices.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from leakline.static.capture.command import LinkStep

_PLAIN, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER_BYTES = 60
_END = b"`\n"
# Where in the table of long names; thin archives may have a slash at the end.
_LONG_NAME = re.compile(rb"/(\d+)\s*/?$")


def unseen_archives(
    links: Mapping[Path, LinkStep], objects: Collection[Path]
) -> list[LinkStep]:
    """A step for each archive that links take in, and whose members were compiled.

    Members have names without folders. An archive counts when all of its members are
    objects of the build: others come from elsewhere.
    """
    inputs = dict.fromkeys(path for step in links.values() for path in step.inputs)
    by_name: dict[str, list[Path]] = {}
    for path in objects:
        by_name.setdefault(path.name, []).append(path)
    found = []
    for path in inputs:
        if path.suffix == ".a" and path not in links:
            members = member_names(path)
            if members and all(name in by_name for name in members):
                parts = [each for name in members for each in by_name[name]]
                found.append(LinkStep(path, tuple(parts)))
    return found


def member_names(archive: Path) -> list[str]:
    """Names of an archive's members without folders; empty when it cannot be read."""
    try:
        content = archive.read_bytes()
    except OSError:
        return []
    if not content.startswith((_PLAIN, _THIN)):
        return []
    return [name.rpartition("/")[2] for name in _members(content)]


def _members(content: bytes) -> Iterator[str]:
    """Names in the order of a System V archive, as GNU and LLVM write it."""
    thin = content.startswith(_THIN)
    long_names = b""
    place = len(_PLAIN)
    while place + _HEADER_BYTES <= len(content):
        header = content[place : place + _HEADER_BYTES]
        size = header[48:58].strip()
        if not header.endswith(_END) or not size.isdigit():
            return
        name = header[:16].rstrip()
        place += _HEADER_BYTES
        special = name in (b"/", b"//", b"/SYM64/")
        if name == b"//":
            long_names = content[place : place + int(size)]
        elif not special:
            yield _member_name(name, long_names)
        if special or not thin:
            place += int(size) + int(size) % 2


def _member_name(name: bytes, long_names: bytes) -> str:
    if place := _LONG_NAME.match(name):
        name = long_names[int(place[1]) :].partition(b"\n")[0]
    return name.removesuffix(b"/").decode(errors="surrogateescape")
