PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INCIDENT ?= examples/incidents/pool-exhaustion
OUT ?= demo-report
DRILL ?= pool-too-large
# tests side by side; more than four would wait for each other's servers
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); test $$n -gt 4 && echo 4 || echo $$n)

.PHONY: setup demo test drills check bench clean

setup: $(VENV)/.ready
$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "installing into $(VENV), once: this takes a minute or two" >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,drill,worker]'
	@touch $@

demo: setup
ifdef LIVE
	$(BIN)/roundsman drill run $(DRILL) --force --out $(OUT)/drill
	$(BIN)/roundsman investigate $(OUT)/drill/incident --out $(OUT)
else
	$(BIN)/roundsman investigate $(INCIDENT) --out $(OUT)
endif
	@echo "Report: $(OUT)/report.html"

test: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# two real outages, one of them none, side by side: about two minutes
drills: setup
	ROUNDSMAN_DRILLS=1 $(BIN)/python -m pytest tests/drill

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(OUT)
