# make demo   set up and run the main job on real text
# make test   set up and run all tests (under ten minutes on two cores)
# make lint   format check, ruff, mypy, layers
# make bench  the benchmarks of docs/benchmarks.md (minutes to an hour)

PYTHON ?= python3.11
# PyTorch first and by itself: what comes later would otherwise choose a CUDA build of gigabytes.
TORCH  ?= torch==2.13.0
VENV   ?= .venv
BIN     = $(VENV)/bin
export TOKENIZERS_PARALLELISM = false

.PHONY: demo test test-slow lint bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: $(BIN)/python
	$(BIN)/pip install -q $(TORCH)
	touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.torch
	$(BIN)/pip install -q -e '.[neural,minilm]'
	touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.demo
	$(BIN)/pip install -q -e '.[neural,minilm,html,irds,dev]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/longrank demo

test: $(VENV)/.test
	$(MAKE) lint
	$(BIN)/python -m pytest -n 2 -q

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.test
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
