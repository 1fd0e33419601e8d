# Needs Python >= 3.11 and make, nothing else: every target sets up its own .venv first.
PYTHON ?= python3
JOBS ?= auto
BIN := .venv/bin

# One thread for each test process: the test processes already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help setup test test-slow demo weights format clean

help:
	@echo "make setup      make .venv with everything the tests need"
	@echo "make test       format check, lint, types, tests (minutes)"
	@echo "make test-slow  the tests marked slow"
	@echo "make demo       a shipped network beside BP-OSD on [[72,12,6]] (a minute)"
	@echo "make weights    train networks like the shipped ones from scratch (110 minutes of one H200)"
	@echo "make format     format the code and apply the lint's safe fixes"
	@echo "make clean      remove .venv and all caches"

setup: .venv/ready

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; \
	sys.exit(sys.version_info < (3, 11) and f"unmasq needs Python 3.11 or later: $(PYTHON) is {v}. Try make PYTHON=python3.11.")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing unmasq and its development tools into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

test: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test-slow: setup
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "slow and not device"

demo: setup
	$(BIN)/unmasq demo
	@echo "The commands are in .venv: begin with  source .venv/bin/activate"

weights: setup
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[cuda]'
	$(BIN)/python tools/train_shipped.py runs/weights

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
