"""The models that come with Leakline, and those a user adds."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from leakline.errors import CheckError
from leakline.static.facts import Declaration
from leakline.static.models.language import (
    Model,
    Owned,
    Result,
    parse,
)


@dataclass(frozen=True, slots=True)
class Models:
    """Models by name; later files win over earlier ones."""

    by_name: Mapping[str, Model]

    def get(self, name: str) -> Model | None:
        """The model of a function, None when it is not a known library function."""
        return self.by_name.get(name)

    def digest(self) -> bytes:
        """Names the content, for caches."""
        text = repr(sorted(self.by_name.items()))
        return hashlib.blake2b(text.encode(), digest_size=16).digest()


def load_models(files: Iterable[Path] = ()) -> Models:
    """The built-in models, then the user's files.

    Raises:
        CheckError: A file cannot be read or understood.
    """
    by_name: dict[str, Model] = {}
    data = resources.files("leakline.static.models") / "data"
    for entry in sorted(data.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".models"):
            text = entry.read_text(encoding="utf-8")
            by_name.update((m.name, m) for m in parse(text, entry.name))
    by_name.update(read_models(files))
    return Models(by_name)


def read_models(files: Iterable[Path]) -> dict[str, Model]:
    """The models in files of a user, who knows better than the source shows.

    Raises:
        CheckError: A file cannot be read or understood.
    """
    return {
        model.name: replace(model, asked_for=True)
        for path in files
        for model in parse(_read(path), str(path))
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckError(f"Cannot read the model file {path}: {error}.") from error


def declared_model(declaration: Declaration) -> Model | None:
    """What attributes in a header say about a function that has no model."""
    name = declaration.name
    if "noreturn" in declaration.attributes:
        return Model(name, noreturn=True)
    if "malloc" in declaration.attributes and declaration.returns == 0:
        released = declaration.releases
        family = released[0].function if released else ""
        owned = Owned(argument=-1, family=family, may_be_null=True)
        keeps = tuple(range(len(declaration.parameters)))
        return Model(name, result=Result.HEAP, owned=(owned,), keeps=keeps)
    if declaration.attributes & {"pure", "const"}:
        return Model(name, pure=True)
    return None
