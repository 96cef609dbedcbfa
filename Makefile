# Needs GNU make and Python 3.11 or newer with its venv module; the rest goes into .venv.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
RESULTS := build/test-results
PYTEST  := $(BIN)/python -m pytest
# ARGS reaches pytest or the demo: make test-quick ARGS="-k window"
ARGS    ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo bench test test-quick test-containers fuzz chaos sim sim-long lint format schemas lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.project ## Create .venv from the hash-checked lock file

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, $(PYTHON) is `$(PYTHON) -V`: set PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) has no venv module (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Build tools first and from the lock too: what has no wheel here is built with them, not with whatever is newest today.
$(VENV)/.lock: requirements/build.txt requirements/dev.txt $(VENV)/.python
	$(BIN)/python -m pip install -q --require-hashes -r requirements/build.txt
	$(BIN)/python -m pip install -q --require-hashes --no-build-isolation -r requirements/dev.txt
	@touch $@

$(VENV)/.project: pyproject.toml $(VENV)/.lock
	$(BIN)/python -m pip install -q --no-deps --no-index --no-build-isolation -e .
	@touch $@

demo: install ## Broker, worker and three proposers on one screen; needs no Docker
	$(BIN)/plangate demo $(ARGS)

bench: install build/bench-venv/.lock ## Measure against the peers, here and now: make bench ARGS="core memory" for some, ARGS=--tiny for a look
	$(BIN)/python -m bench $(ARGS)

# Quix Streams, a peer, needs libraries that the product does not.
build/bench-venv/.lock: requirements/bench.txt $(VENV)/.python
	$(BIN)/python -m venv --clear build/bench-venv
	build/bench-venv/bin/python -m pip install -q --require-hashes -r requirements/bench.txt
	@touch $@

load: ## Load test in containers: report in build/load; ARGS="--action 60:add -- --rate 300" and the like. Needs Docker
	$(PYTHON) deploy/load/run.py $(ARGS)

test: test-quick ## All tests; those that need Docker only where an engine answers
	@if why=`$(BIN)/python tests/broker/engine.py`; then $(MAKE) --no-print-directory test-containers; \
	else echo "CONTAINER TESTS NOT RUN: $$why"; fi

test-quick: install ## The tests that need no Docker
	$(PYTEST) tests -m "not container and not fuzz" --junitxml=$(RESULTS)/quick.xml $(ARGS)

test-containers: install ## The tests against a real Kafka in a container; needs Docker
	$(PYTEST) tests -m container --junitxml=$(RESULTS)/container.xml $(ARGS)

fuzz: install ## Fuzz the decoder and the engine for FUZZ_SECONDS (60), then look for a planted defect
	$(PYTEST) tests/fuzz -m fuzz -s --junitxml=$(RESULTS)/fuzz.xml $(ARGS)

sim: install ## Simulate 3,000 seeds of faults, break the gate on purpose, print what was found; ARGS=SEED shows one seed
	$(BIN)/python -m tests.sim --mutants $(ARGS)

sim-long: install ## The same with 100,000 seeds
	$(BIN)/python -m tests.sim --seeds 100000 $(ARGS)

chaos: install ## Faults on a real broker in the large dose (20 minutes or more); needs Docker
	CHAOS_ROUNDS=$${CHAOS_ROUNDS:-7} $(PYTEST) tests/broker/test_chaos_*.py --junitxml=$(RESULTS)/chaos.xml $(ARGS)

lint: install ## Check style and formatting
	$(BIN)/ruff check streams tests bench deploy
	$(BIN)/ruff format --check streams tests bench deploy

format: install ## Apply the formatting and the fixes that are safe
	$(BIN)/ruff check --fix streams tests bench deploy
	$(BIN)/ruff format streams tests bench deploy

schemas: install ## Write schemas/ and the decision tables anew from the types and reasons
	$(BIN)/plangate schemas schemas --table docs/decisions.md --table README.md

lock: ## Resolve the dependencies anew (needs uv)
	uv pip compile -q $(LOCK_FLAGS) pyproject.toml -o requirements/run.txt
	uv pip compile -q $(LOCK_FLAGS) pyproject.toml --extra embedded --group dev -c requirements/run.txt -o requirements/dev.txt
	uv pip compile -q $(LOCK_FLAGS) --group build -c requirements/dev.txt -o requirements/build.txt
# One file for every platform and Python, all hashes of each version, and no word of where it came from.
LOCK_FLAGS := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
              --no-emit-index-url --no-emit-find-links

clean: ## Remove .venv and everything else that was generated
	rm -rf $(VENV) build dist .demo .pytest_cache .ruff_cache .hypothesis *.egg-info streams/*.egg-info
	find streams tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
