# Everything is set up in .venv of this folder; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.PHONY: help setup demo test lint check clean
help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(VENV)/.ready ## Make the virtual environment with all that demo, test and lint need

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs a part of what the tests need, and is there sooner for it.
$(VENV)/.examples: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[examples]"
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[examples,frameworks,test]"
	touch $@

demo: $(VENV)/.examples ## Train examples/digits_mlp 8 times and say how much the runs differ
	cd examples/digits_mlp && ../../$(BIN)/deviate run -n 8 -- ../../$(BIN)/python train.py

test: setup ## Run all tests
	$(BIN)/python -m pytest

lint: setup ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vermin --quiet --no-tips --target=3.7- --violations src/deviate/runtime/injected

check: lint test ## Lint, then test

clean: ## Remove the virtual environment, caches and the examples' workspaces
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find examples -name .deviate -type d -prune -exec rm -rf {} +
