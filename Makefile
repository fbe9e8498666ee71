# Two commands: `make run` shows what the library does, `make test` checks all of it.
# Each sets up .venv first if it is missing or older than pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install --quiet --disable-pip-version-check --editable
# two test processes on two cores: threads of BLAS would only get in each other's way
PYTEST := -m pytest -n 2 --dist worksteal

.PHONY: run test lint test-oldest docs wheel reproduce bench speed clean

run: .venv/.run
	$(BIN)/plurilabel demo --out out

test: lint .venv/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST)

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/private_imports.py

# The oldest versions that pyproject.toml allows, in an environment of their own, without torch, and
# without river, which needs SciPy 1.14.1.
test-oldest: .venv-oldest/.ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python $(PYTEST) -q -p no:cacheprovider

# The documentation, in docs/_build/html; a warning is an error.
docs: .venv/.test
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	$(BIN)/python docs/check_pages.py docs/_build/html

# The wheel, and whether it works where nothing but the core libraries is installed.
wheel:
	rm -rf dist .venv-wheel
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd dist && ../.venv-wheel/bin/python -I ../scripts/try_wheel.py

# Repeat every published table on the real data: docs/reproduction.md.
reproduce: .venv/.test
	$(BIN)/python -m benchmarks reproduce --out docs

# A few ratios to peers beside those of the last kept run: what has become slower?
bench: .venv/.test
	$(BIN)/python -m benchmarks guard

# Every comparison with other libraries: docs/benchmarks.md.
speed: .venv-bench/.ready
	.venv-bench/bin/python -m benchmarks speed

.venv/.run: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) '.[serve]'
	touch $@

.venv/.test: pyproject.toml constraints/test.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) '.[test,docs,torch,kernels,keras,streams,dask,transformers]' --constraint constraints/test.txt
	touch .venv/.run $@

.venv-oldest/.ready: pyproject.toml constraints/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python $(PIP) '.[test]' --constraint constraints/oldest.txt
	touch $@

.venv-bench/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP) '.[bench]' --constraint constraints/test.txt
	touch $@

clean:
	rm -rf .venv .venv-* dist out docs/_build
