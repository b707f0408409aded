"""Schemas that others publish, as a package of PyPI carries them."""

import json
import sqlite3
from functools import lru_cache
from importlib.metadata import distribution
from typing import Any

GITHUB_ACTION = "metadata-syntax-for-github-actions"
GITHUB_WORKFLOW = "workflow-syntax-for-github-actions"
SARIF = "sarif-spec/master/Schemata/sarif-schema-2.1.0.json"


@lru_cache
def published_schema(address: str) -> dict[str, Any]:
    """The schema that names this address in its first lines.

    Package `schemastore` keeps answers of web servers in a database; each begins with
    a few bytes of its own, and then comes the document.
    """
    store = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        answers = database.execute("SELECT value FROM responses").fetchall()
    database.close()
    for (answer,) in answers:
        if address.encode() in answer[:2000]:
            text = answer[answer.index(b"{") :].decode(errors="replace")
            document: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
            return document
    raise AssertionError(f"no schema {address} in the package schemastore")
