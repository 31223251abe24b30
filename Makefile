# Everything runs in a virtual environment of the project's own (.venv), with the versions of constraints.txt.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help check test test-slow test-checked test-cluster lint format bench crash load fuzz clean

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/ —/'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[check,plot]' -r requirements-dev.txt
	@touch $@

check: $(STAMP)  ## set up, then the main job: every suite in specs/ gives the verdict that it must
	$(BIN)/quiesce check

test: $(STAMP)   ## set up, then pass the tests
	$(BIN)/python -m pytest -m "not slow" -n 2

test-slow: $(STAMP) ## the long tests (minutes to hours)
	$(BIN)/python -m pytest -m slow

test-cluster: $(STAMP) ## install Ray, then explore on a cluster of two nodes on this machine (minutes)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[check,cluster]'
	$(BIN)/python -m pytest tests/checks/test_explore_cluster.py

lint: $(STAMP)   ## ruff and pyright (strict on model, checks and impl)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright

crash: $(STAMP)  ## kill the server 200 times under load: nothing acknowledged may be lost
	$(BIN)/python tests/impl/store_crash.py --kills 200

load: $(STAMP)   ## the store under load, beside a bare SQLite insert and Redis (where redis-server is installed)
	$(BIN)/python benchmarks/load.py

bench: $(STAMP)  ## the benchmarks' short forms, about a minute (benchmarks/README.md has the long ones)
	$(BIN)/python benchmarks/scheduler.py --short
	$(BIN)/python benchmarks/scheduler_storm.py --minutes 1 --seeds 1
	$(BIN)/python benchmarks/classifier.py
	$(BIN)/python benchmarks/explore.py --scope mid --only quiesce --rounds 1
	$(BIN)/python benchmarks/load.py --only one --seconds 1 --rounds 1

test-checked: $(STAMP) ## the runtime's tests, with all that is kept incrementally recomputed from scratch after every step
	QUIESCE_CHECKED=1 $(BIN)/python -m pytest -m "not slow" tests/impl

fuzz: $(STAMP)   ## coverage-guided fuzzing of the store's frames (needs atheris: pip install atheris)
	PYTHONPATH=tests/impl $(BIN)/python tests/impl/store_fuzz.py -max_total_time=300

format: $(STAMP) ## rewrite with ruff
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

clean:           ## remove what was made
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .quiesce
