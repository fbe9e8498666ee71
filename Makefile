# Two commands: `make run` shows what the library does, `make test` checks all of it.
# Each sets up .venv first if it is missing or older than pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# two test processes on two cores: threads of BLAS would only get in each other's way
PYTEST := -m pytest -n 2 --dist worksteal

.PHONY: run test lint test-oldest bench clean

run: $(READY)
	$(BIN)/plurilabel demo --out out

test: lint $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST)
	$(MAKE) test-oldest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The oldest versions that pyproject.toml allows, in an environment of their own.
test-oldest: .venv-oldest/.ready
	OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python $(PYTEST) -q -p no:cacheprovider

bench: .venv-bench/.ready
	.venv-bench/bin/python -m benchmarks

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

.venv-oldest/.ready: pyproject.toml constraints/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' --constraint constraints/oldest.txt
	touch $@

.venv-bench/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-bench out
