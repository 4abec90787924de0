# The commands of this checkout. Each makes the environment in .venv by itself when it is not there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-postgres soak check format lint types imports bench bench-supervisor bench-steps clean

demo: $(VENV)/.runs ## runs the starter workflow from start to end: DB=postgresql://... for Postgres
	@$(BIN)/python examples/demo.py

test: $(VENV)/.checks ## runs every test, on SQLite and on a real Postgres
	@$(BIN)/python -m pytest -n auto $(ARGS)

test-postgres: $(VENV)/.checks ## runs those that need Postgres on another one: PG_BIN=/usr/lib/postgresql/15/bin
	@test -n "$(PG_BIN)" || { echo "say where its initdb is: make test-postgres PG_BIN=/usr/lib/postgresql/15/bin" >&2; exit 1; }
	@STATEOUS_TEST_POSTGRES_BIN="$(PG_BIN)" $(BIN)/python -m pytest -n auto -m postgres $(ARGS)

soak: $(VENV)/.checks ## kills supervisors, control planes and Postgres twenty times each (ROUNDS=100 for more), hangs up for a minute, answers 5,000 suspensions, and lets 200 connections want the same 10,000 items
	@STATEOUS_SOAK=$(or $(ROUNDS),20) $(BIN)/python -m pytest -n auto tests/e2e/test_kills.py tests/faults/test_exhaustion.py tests/faults/test_responses.py tests/faults/test_items.py $(ARGS)

check: format lint types imports test ## everything that must be green

format: $(VENV)/.checks
	@$(BIN)/ruff format --check .

lint: $(VENV)/.checks
	@$(BIN)/ruff check .

types: $(VENV)/.checks
	@$(BIN)/pyright

imports: $(VENV)/.checks
	@$(BIN)/lint-imports

bench: $(VENV)/.runs ## measures over HTTP; see bench/README.md
	@$(BIN)/python bench/http.py $(ARGS)

bench-supervisor: $(VENV)/.runs ## measures one supervisor beside its control plane; see bench/README.md
	@$(BIN)/python bench/supervisor.py $(ARGS)

bench-steps: $(VENV)/.runs ## measures steps of routines; see bench/README.md
	@$(BIN)/python bench/steps.py $(ARGS)

clean: ## removes the environment and what tools made
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Stateous needs Python 3.11 or newer: make PYTHON=python3.x ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Python cannot make an environment: install its venv module" >&2; exit 1; }

# A stamp is newer than pyproject.toml when the environment has what it asks for.
$(VENV)/.runs: pyproject.toml | $(BIN)/python
	@echo "installing Stateous into $(VENV)" >&2
	@$(PIP) install -e .
	@touch $@

$(VENV)/.checks: pyproject.toml | $(BIN)/python
	@echo "installing Stateous and its checks into $(VENV)" >&2
	@$(PIP) install -e '.[dev]'
	@touch $(VENV)/.runs $@
