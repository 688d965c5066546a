PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INCIDENT ?= examples/incidents/pool-exhaustion
OUT ?= demo-report

.PHONY: setup demo test check bench clean

setup: $(VENV)/.ready
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup
	$(BIN)/roundsman investigate $(INCIDENT) --out $(OUT)
	@echo "Report: $(OUT)/report.html"

test: setup
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(OUT)
