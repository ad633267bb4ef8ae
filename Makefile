# Everything a developer runs; `.ci/run` and the workflows call these targets and nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
ARGS   ?=
# For `make bench`: how many runs, and an environment with another nvitop to measure beside ours.
RUNS   ?= 15
PEER   ?=
# For `make soak`: how many ticks.
TICKS  ?= 20000
# For `make fuzz`: how many times what the tests generate by default.
FUZZ   ?= 60
# For `make faults`.
CASES  ?= 1200
SEED   ?= 1
# A package index may be slow, or away for a moment.
export PIP_RETRIES ?= 10
export PIP_DEFAULT_TIMEOUT ?= 60
BENCH  := .venvs/bench/bin/python
DOCS   := .venvs/docs/bin/python
DELIVERY := .venvs/delivery/bin/python

.DEFAULT_GOAL := help

.PHONY: help
help: ## what can be made
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One environment for everything; made again when the metadata changes.
$(VENV)/.made: pyproject.toml
	@echo 'Making an environment in $(VENV); this takes a minute, and is done once.' >&2
	@$(PYTHON) tools/make_venv.py $(VENV)
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --editable '.[test,lint]'
	@touch $@

.PHONY: venv
venv: $(VENV)/.made ## an environment with nvitop and all its tools in .venv

.PHONY: run
run: $(VENV)/.made ## show this machine's GPUs, or a simulated machine where there is no driver
	@$(BIN)/python tools/run.py $(ARGS)

.PHONY: test
test: lint ## check style and types, then run the tests
	@$(PYTEST) $(ARGS)

.PHONY: test-only
test-only: $(VENV)/.made ## run the tests alone
	@$(PYTEST) $(ARGS)

.PHONY: lint
lint: $(VENV)/.made ## check style (ruff), wording, and types (mypy --strict, for Linux, Windows and macOS)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_language.py
	@if [ ! -x $(BIN)/mypy ]; then echo 'NOT CHECKED, needs Python 3.10 or newer: types'; exit; fi; \
	$(BIN)/mypy || exit 1; \
	for platform in win32 darwin; do \
		$(BIN)/mypy --platform $$platform --no-warn-unreachable --cache-dir .mypy_cache/$$platform nvitop || exit 1; \
	done

.PHONY: format
format: $(VENV)/.made ## format the code and mend what can be mended
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: test-slow
test-slow: $(VENV)/.made ## run the tests that are too slow for every change
	@$(PYTEST) -m 'slow and not gpu' $(ARGS)

# All of them: 40 minutes of CPU time; what is interrupted goes on where it was, by .faults.jsonl.
.PHONY: faults
faults: $(VENV)/.made ## break what nvitop stands on, in CASES=1200 ways or CASES=all (13212); others with SEED=2
	@$(BIN)/python -m tests.faults.product $(CASES) --seed $(SEED)
	@NVITOP_FAULT_CASES=$(CASES:all=5120) NVITOP_FAULT_SEED=$(SEED) $(PYTEST) -m 'not gpu' tests/faults $(ARGS) \
		--deselect tests/faults/test_driver.py::test_whatever_fails_in_whatever_way

.PHONY: test-pythons
test-pythons: $(VENV)/.made ## run the tests on every other Python at hand, 3.8 to 3.13
	@$(BIN)/python tools/test_matrix.py pythons $(ARGS)

.PHONY: test-bindings
test-bindings: $(VENV)/.made ## run the tests of drivers with old and new NVML bindings, all tests with the oldest dependencies
	@$(BIN)/python tools/test_matrix.py bindings $(ARGS)

.PHONY: test-peers
test-peers: $(VENV)/.made ## compare nvitop.compat with pynvml.smi and igpu, name by name
	@$(BIN)/python tools/test_matrix.py peers $(ARGS)

# nvitop is installed there as users have it: what finds an editable one takes time of its own.
.PHONY: bench
bench: ## measure, on the driver that is found; PEER=DIRECTORY of an environment with another nvitop, RUNS=31 for steadier figures
	@test -x $(BENCH) || $(PYTHON) tools/make_venv.py .venvs/bench
	@$(BENCH) -m pip --quiet --disable-pip-version-check install --upgrade .
	@rm -rf build *.egg-info
	@$(BENCH) -m benchmarks.machine
	@$(BENCH) -m benchmarks.import_time --runs $(RUNS) $(PEER:%=%/bin/python)
	@$(BENCH) -m benchmarks.report --runs $(RUNS) $(PEER:%='%/bin/nvitop -1')
	@$(BENCH) -m benchmarks.nvisel --runs $(RUNS) $(PEER:%=%/bin/nvisel)
	@$(BENCH) -m benchmarks.snapshots --runs $(RUNS) $(PEER:%=%/bin/python)
	@$(BENCH) -m benchmarks.collector --seconds $(RUNS) $(PEER:%=%/bin/python)
	@$(BENCH) -m benchmarks.tick
	@$(BENCH) -m benchmarks.growth
	@$(BENCH) -m benchmarks.render
	@$(BENCH) -m benchmarks.monitor --seconds $(RUNS) --keys 60 $(PEER:%=--peer %/bin/nvitop)

.PHONY: test-callbacks
test-callbacks: $(VENV)/.made ## run the tests of callbacks and examples with Keras, Lightning and a CPU build of PyTorch
	@$(BIN)/python tools/test_callbacks.py $(ARGS)

# 60: 150,000 processes with hostile names on screens, in reports, CSV and JSON; a few minutes.
.PHONY: fuzz
fuzz: $(VENV)/.made ## generated hostile input; FUZZ=20 for a third of it, NVITOP_FUZZ_SEED=n for other input
	@NVITOP_FUZZ=$(FUZZ) $(PYTEST) -o timeout=1800 tests/fuzz $(ARGS)

# 20000: three programs at once, about five minutes on two cores.
.PHONY: soak
soak: $(VENV)/.made ## long runs with churn: nothing may leak or come late; TICKS=5000 for a quarter of it
	@$(BIN)/python -m benchmarks.soak --ticks $(TICKS) $(ARGS)

# -W -n: a warning is an error, and so is a name that leads nowhere.
.PHONY: docs
docs: ## build the documentation in docs/_build/html; needs Python 3.11
	@test -x $(DOCS) || $(PYTHON) tools/make_venv.py .venvs/docs
	@$(DOCS) -m pip --quiet --disable-pip-version-check install --editable . -r docs/requirements.txt
	@$(DOCS) -m sphinx -q -W -n --keep-going docs docs/_build/html
	@echo 'Built: docs/_build/html/index.html'

# What builds nvitop and checks what is delivered; an environment of its own, for it is large.
.venvs/delivery/.made: pyproject.toml
	@$(PYTHON) tools/make_venv.py .venvs/delivery
	@$(DELIVERY) -m pip --quiet --disable-pip-version-check install --editable '.[delivery]'
	@touch $@

.PHONY: share
share: .venvs/delivery/.made ## write the man pages and the completions of shells in share/
	@$(DELIVERY) tools/make_share.py $(ARGS)

# hadolint has no wheel for every platform; what is not checked is said loudly.
.PHONY: lint-files
lint-files: .venvs/delivery/.made ## check what is no Python: shell scripts, Dockerfile, workflows, man pages and completions
	@$(DELIVERY:python=shellcheck) install-nvidia-driver.sh .ci/run
	@if [ -x $(DELIVERY:python=hadolint) ]; then $(DELIVERY:python=hadolint) Dockerfile; else echo 'NOT CHECKED, no hadolint here: Dockerfile'; fi
	@$(DELIVERY:python=yamllint) --strict .github .pre-commit-config.yaml .readthedocs.yaml .yamllint.yaml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.readthedocs .readthedocs.yaml
	@$(DELIVERY:python=zizmor) --offline --quiet .github
	@$(DELIVERY) tools/make_share.py --check

.PHONY: build
build: .venvs/delivery/.made ## build the wheel and the source distribution in dist/, and check them
	@$(DELIVERY) tools/test_package.py --build

.PHONY: test-package
test-package: .venvs/delivery/.made ## build, then install and run the wheel on every Python at hand
	@$(DELIVERY) tools/test_package.py

.PHONY: clean
clean: ## remove what was made
	rm -rf $(VENV) .venvs docs/_build build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .faults.jsonl
