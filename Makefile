# make demo      install everything and show what linsep does
# make test      install everything; run lint, types, import rules and the tests
# make quick     the tests of learning and verdicts: less than a minute
# make slow      the tests that take long: killed processes, fuzzed files, all examples of properties, every page in a browser
# make lowest    the quick tests with the oldest versions of the libraries that linsep allows
# make docs      build the pages into build/docs; a warning is an error
# make pages     update the tables and outputs of the pages and notebooks from the code
# make bench     compare speed with other programs (on a quiet machine); BENCH="passes files" runs a part
# make dist      build the wheel and the source archive into dist
# make coverage  run all tests, then those of compiled loops with the compiler off; at least 95% of the lines must run
# make clean     remove all generated files
.DEFAULT_GOAL := help
.PHONY: help demo test quick slow lowest lint docs pages bench dist coverage clean

PYTHON ?= python3
BIN := .venv/bin
BENCH ?= all
QUICK := tests/learn/test_bits.py tests/learn/test_kernels.py tests/models/test_perceptron.py tests/prove/test_reducing.py \
	tests/prove/test_fast_check.py tests/prove/test_margin.py
# nothing of the caller's Python set-up may leak in
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help:
	@sed -n 's/^# make/make/p' Makefile

# a stamp per extra: the environment is made anew only when what it is made from has changed
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

.venv/dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet 'pip>=25.1'  # the first that knows dependency groups
	$(BIN)/python -m pip install --quiet -c constraints.txt -e . --group dev
	@$(BIN)/python -m pip install --quiet -c constraints.txt liblinear-official 2>/dev/null \
		|| echo 'liblinear-official needs a C compiler: the tests beside it are skipped'
	@touch $@

.venv/bench: .venv/dev
	$(BIN)/python -m pip install --quiet -c constraints.txt --group bench
	@touch $@

demo: .venv/run
	$(BIN)/python examples/demo.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/words.py
	$(BIN)/codespell *.md docs src examples benchmarks

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow'

quick: .venv/dev
	$(BIN)/python -m pytest -n 2 -m 'not slow' $(QUICK)

slow: .venv/dev
	LINSEP_EXAMPLES=full $(BIN)/python -m pytest -n 2 -m 'slow or examples'

# direct dependencies as old as pyproject.toml allows, the tools of the tests as they are
lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e .
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python hypothesis jsonschema pandas pytest pytest-xdist
	.venv-lowest/bin/python -m pytest -n 2 -m 'not slow' $(QUICK)

docs: .venv/dev
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees -b html docs build/docs
	@echo 'the pages: build/docs/index.html'

pages: .venv/dev
	$(BIN)/python docs/tables.py
	$(BIN)/python docs/pages.py
	$(BIN)/python docs/notebooks.py

bench: .venv/bench
	$(BIN)/python -m benchmarks $(BENCH)

dist: .venv/dev
	$(BIN)/python -m build

# what is compiled cannot be watched line by line: the modules with compiled code run a second time, with the compiler off
LOOPS := prove/test_nearest_point prove/test_fast_check prove/test_exact_solve prove/test_separate prove/test_margin \
	prove/test_bounds models/test_perceptron models/test_passive_aggressive models/test_family models/test_kernel_perceptron \
	data/test_libsvm data/test_table_rows data/test_read learn/test_kernels
coverage: .venv/dev
	$(BIN)/python -m pytest -n 2 --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m 'not compiled' $(LOOPS:%=tests/%.py) \
		--cov --cov-append --cov-report=term-missing:skip-covered --cov-fail-under=95

clean:
	rm -rf .venv .venv-lowest build dist demo docs/imports.svg
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache .coverage*
	find src tests benchmarks docs examples -name __pycache__ -prune -exec rm -rf {} +
