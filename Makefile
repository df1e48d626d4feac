# Everything is set up in .venv of this folder; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
INSTALL := $(PIP) install --quiet --no-compile --constraint constraints.txt
# What pip leaves out: it would compile on one core. The sources of Deviate too, where Python may write no bytecode of
# its own. Tests of packages are not imported, nor are the models of transformers, a seventh of all that there is to
# compile; some files no Python 3 compiles.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/|/transformers/models/(?!auto/)' $(VENV)/lib src || true

.PHONY: help setup demo test test-quick test-nightly lint types style docs screens check clean
help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(VENV)/.ready ## Make the virtual environment with all that demo, test and lint need

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs a part of what the tests need, and is there sooner for it.
$(VENV)/.examples: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Deviate and what the example needs (PyTorch among it) into $(VENV): some minutes, once"
	@$(INSTALL) --editable ".[all,examples]"
	@$(COMPILE)
	@touch $@

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Deviate and what its tests and docs need into $(VENV): some minutes, once"
	@$(INSTALL) --editable ".[all,examples,frameworks,test,docs]"
	@$(COMPILE)
	@touch $(VENV)/.examples $@

demo: $(VENV)/.examples ## Train examples/digits_mlp 8 times and say how much the runs differ
	cd examples/digits_mlp && ../../$(BIN)/deviate run -n 8 -- ../../$(BIN)/python train.py

# A file's tests share its fixtures, so a file stays in one process; the files that take longest come first. Tests wait
# for programs that they start, so there is a process more than there are cores, and four at most.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); [ $$n -lt 4 ] && echo $$((n + 1)) || echo 4)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: setup ## Run all tests but those marked nightly
	$(PYTEST) -m "not nightly"

test-quick: setup ## Run the unit tests that take a moment, with few examples: below a minute on two cores
	$(PYTEST) --hypothesis-profile quick -m "not slow and not long and not latex and not browser" tests/unit

test-nightly: setup ## Run all tests with every cell of the matrices of factors, and thousands of examples
	$(INSTALL) --editable ".[ray]"
	DEVIATE_MATRIX=full $(PYTEST) --hypothesis-profile nightly

lint: docs types style ## Check style, types, layers and the links of the docs

types: setup
	$(BIN)/mypy

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/lint-imports
	$(BIN)/vermin --quiet --no-tips --target=3.7- --violations src/deviate/runtime/injected

# Without the variable mkdocs-material advertises its successor at every build; with --quiet nothing would be strict.
docs: setup ## Build the docs as a site into site/; a link that leads nowhere fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screens: setup ## Make the screens, pictures and reports that the docs show, from real runs; a quarter of an hour
	$(BIN)/python docs/make_screens.py

check: lint test ## Lint, then test

clean: ## Remove the virtual environment, caches and the examples' workspaces
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find examples -name .deviate -type d -prune -exec rm -rf {} +
