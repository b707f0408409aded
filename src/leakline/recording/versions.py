"""Older recordings: one upgrade function per version of the format.

`UPGRADES[n]` turns a chunk of version n + 1 into one of version n + 2, so that the
reader knows the newest layouts only.
"""

from collections.abc import Callable

from leakline.recording.chunks import Chunk

UPGRADES: tuple[Callable[[Chunk], Chunk], ...] = ()


def upgrade(chunk: Chunk, version: int) -> Chunk:
    """The chunk as the newest version would have written it."""
    for step in UPGRADES[version - 1 :]:
        chunk = step(chunk)
    return chunk
