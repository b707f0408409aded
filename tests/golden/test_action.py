"""The GitHub Action against the schema that is published for such files."""

from pathlib import Path

import jsonschema
import yaml

from .published_schemas import GITHUB_ACTION, published_schema

ACTION = Path(__file__).parents[2] / "action.yml"


def test_the_action_follows_the_published_schema() -> None:
    document = yaml.safe_load(ACTION.read_text())
    jsonschema.Draft7Validator(published_schema(GITHUB_ACTION)).validate(document)
