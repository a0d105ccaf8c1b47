# make demo   set everything up and show what linsep does
# make test   set everything up; lint, types, import rules, all tests
# make bench  set everything up; speed beside the peers (keep the machine quiet)
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench coverage clean

PYTHON ?= python3
BIN := .venv/bin
# nothing of the caller's Python set-up may leak in
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help:
	@sed -n 's/^# make/make/p' Makefile

# a stamp per extra: the environment is made anew only when what it is made from has changed
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m pip install --quiet -c constraints.txt liblinear-official 2>/dev/null \
		|| echo 'liblinear-official needs a C compiler: the tests beside it are skipped'
	@touch $@

.venv/bench: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	@touch $@

demo: .venv/dev
	$(BIN)/python examples/demo.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2

coverage: .venv/dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 --cov --cov-report=term-missing

bench: .venv/bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
