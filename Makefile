# The two commands are `make run` and `make test`; `make help` lists the rest.
LOGDIR ?= fixtures/demo
PORT   ?= 6006
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Browser tests mostly wait: three files of tests at a time on two cores, the browser's first. One by one: AT_ONCE=.
AT_ONCE ?= -n 3 --dist loadfile --no-loadscope-reorder
# No browser, no capture, no comparison with other programs, nothing slow.
QUICK := tests/unit tests/http tests/golden --ignore=tests/unit/capture -m "not full and not slow"
FUZZ_SECONDS ?= 60
# The tests take no newer packages of others than they were run with; NEWEST= takes the newest there are.
NEWEST ?= tests/newest.txt
INSTALL := PIP_CONSTRAINT=$(NEWEST) $(BIN)/python -m pip install --quiet --disable-pip-version-check -e
# What an install is made from: a change of these installs again.
BUILT  := setup.py $(wildcard tb_npu_plugin/*/native/*)

# Each of the many programs that tests start would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run dev needed test test-quick test-all check bench fuzz wheel format frontend fixtures screenshots clean generated
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z_-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## open LOGDIR (default fixtures/demo) in TensorBoard on PORT (default 6006)
	$(BIN)/tensorboard --logdir "$(LOGDIR)" --port $(PORT)

dev: $(VENV)/.installed ## as run; reloads the frontend and restarts TensorBoard when a source changes
	@sh tools/frontend.sh install
	$(BIN)/python tools/dev.py "$(LOGDIR)" $(PORT)

needed: $(VENV)/.test
	@sh tools/ensure_chromium.sh
	@PIP_CONSTRAINT=$(NEWEST) sh tools/ensure_torch.sh $(BIN)/python
	@sh tools/ensure_device.sh $(BIN)/python

test: needed ## the tests of every commit, the browser ones included
	$(BIN)/python -m pytest $(AT_ONCE) $(PYTEST_ARGS)
	@sh tools/frontend.sh test

test-quick: $(VENV)/.test ## less than a minute: no browser, no capture
	$(BIN)/python -m pytest $(AT_ONCE) $(QUICK) $(PYTEST_ARGS)
	@sh tools/frontend.sh test

test-all: needed ## every test, those marked "full" included: before a release
	@PIP_CONSTRAINT=$(NEWEST) sh tools/ensure_programs.sh $(BIN)/python
	@sh tools/ensure_firefox.sh
	$(BIN)/python -m pytest $(AT_ONCE) -m "full or not full" $(PYTEST_ARGS)
	@sh tools/frontend.sh test
	$(BIN)/python tools/mutants.py

check: $(VENV)/.check ## lint, types, import rules, dead code, generated files, the built frontend
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/dead_code.py
	$(BIN)/python tools/weight.py --check
	$(BIN)/python tools/gen_types.py --check
	$(BIN)/python tools/gen_glossary.py --check
	$(BIN)/python fixtures/make.py --check
	sh tools/frontend.sh check

bench: $(VENV)/.test ## all benchmarks; writes benchmarks/RESULTS.md (BENCH_ARGS=--quick: small sizes)
	@sh tools/ensure_torch.sh $(BIN)/python
	@sh tools/ensure_device.sh $(BIN)/python
	$(BIN)/python benchmarks/all.py $(BENCH_ARGS)

fuzz: ## fuzz the C code for FUZZ_SECONDS (default 60); run the C++ code under sanitizers
	@sh tools/ensure_clang.sh
	$(PYTHON) tests/fuzz/run.py $(FUZZ_SECONDS)
	$(or $(wildcard $(BIN)/python),$(PYTHON)) tests/fuzz/device.py

wheel: ## build a wheel for this machine into dist/ and try it in a fresh environment
	sh tools/wheel.sh $(PYTHON)

format: $(VENV)/.check ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	sh tools/frontend.sh format

generated: $(VENV)/.check ## write again what is generated: types, texts, docs/formats.md, the bundle
	$(BIN)/python tools/gen_types.py
	$(BIN)/python tools/gen_glossary.py
	$(BIN)/python -m tb_npu_plugin.schema.docgen > docs/formats.md
	sh tools/frontend.sh build

frontend: ## rebuild the committed bundle (needs Node)
	sh tools/frontend.sh build

fixtures: $(VENV)/.installed ## write the fixtures again
	$(BIN)/python fixtures/make.py

screenshots: $(VENV)/.test ## make the pictures of docs/img again
	$(BIN)/python -m pytest tests/e2e -m "full or not full" -k "docs or data_pipeline_is_chosen" --docs

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist *.egg-info frontend/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Editable: a change of the code is there at the next start.
$(VENV)/.installed: $(BUILT) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# Once more where a download fails.
$(VENV)/.test: $(BUILT) $(NEWEST) | $(VENV)/bin/python
	$(INSTALL) '.[test]' || $(INSTALL) '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.check: $(BUILT) $(NEWEST) | $(VENV)/bin/python
	$(INSTALL) '.[test,check]' || $(INSTALL) '.[test,check]'
	@touch $@ $(VENV)/.installed $(VENV)/.test
