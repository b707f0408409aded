# One name per thing a developer does; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup check format test

BIN := .venv/bin

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 18

setup: .venv/.ready  ## Create .venv with everything the tools below need

.venv/.ready: pyproject.toml
	python3 -m venv .venv
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --group dev
	touch $@

check: setup  ## Formatting, lint, types, import layers
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-logo

format: setup  ## Rewrite all sources in the house style
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

test: setup  ## The tests
	PYTHONPATH=src $(BIN)/pytest
