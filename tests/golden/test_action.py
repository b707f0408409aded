"""The GitHub Action and a workflow against the schemas published for such files."""

from pathlib import Path

import jsonschema
import yaml

from .published_schemas import GITHUB_ACTION, GITHUB_WORKFLOW, published_schema

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
WORKFLOW = ROOT / "examples/inventory/.github/workflows/leaks.yml"


def test_the_action_follows_the_published_schema() -> None:
    document = yaml.safe_load(ACTION.read_text())
    jsonschema.Draft7Validator(published_schema(GITHUB_ACTION)).validate(document)


def test_the_workflow_of_the_example_follows_the_published_schema() -> None:
    # YAML reads the key `on` as true.
    text = WORKFLOW.read_text().replace("\non:", '\n"on":')
    schema = published_schema(GITHUB_WORKFLOW)
    jsonschema.Draft7Validator(schema).validate(yaml.safe_load(text))
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    steps = yaml.safe_load(text)["jobs"]["leaks"]["steps"]
    (step,) = (one for one in steps if "LEAKLINE" in one.get("uses", ""))
    assert set(step["with"]) <= set(inputs)
