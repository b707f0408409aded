"""Digests of values by their content, the same in every process."""

import hashlib
from dataclasses import fields, is_dataclass


def content_digest(*parts: object) -> bytes:
    """Names the content of nested records, tuples and sets."""
    text = repr([_canonical(part) for part in parts])
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _canonical(part: object) -> object:
    """The part with sets in order: their own order changes from run to run."""
    if isinstance(part, frozenset):
        return ["set", *sorted(repr(_canonical(item)) for item in part)]
    if isinstance(part, tuple):
        return tuple(_canonical(item) for item in part)
    if is_dataclass(part):
        return [_canonical(getattr(part, field.name)) for field in fields(part)]
    return part
