# All commands for developers. `.ci/run` and the workflows call only these targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# In CI, a test that fails once and passes the second time is listed as RERUN and stops nobody; it is a bug to fix.
PYTEST := $(BIN)/python -m pytest $(if $(CI),--reruns=1)
ARGS   ?=
# Images often set this variable. Then each process of pytest would rewrite the assertions of all tests again.
unexport PYTHONDONTWRITEBYTECODE
# A process of pytest for each of up to four processors.
WORKERS := --numprocesses=logical --maxprocesses=4 --dist=worksteal
# For `make bench`: number of runs, and an environment with another nvitop to compare with.
RUNS   ?= 15
PEER   ?=
# For `make soak`: number of ticks.
TICKS  ?= 20000
# For `make fuzz`: multiple of the default number of generated inputs.
FUZZ   ?= 60
# All that CI runs on Linux; the workflow has a job for each of them.
SUITES := test test-slow test-pythons test-peers test-exporter test-fleet test-recording \
	test-owners test-callbacks fuzz soak docs lint-files test-package
# Package indexes can be slow or briefly unavailable.
export PIP_RETRIES ?= 10
export PIP_DEFAULT_TIMEOUT ?= 60
BENCH  := .venvs/bench/bin/python
DOCS   := .venvs/docs/bin/python
DELIVERY := .venvs/delivery/bin/python
NOX    := .venvs/nox/bin/python -m nox

ifneq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 8))' 2>/dev/null),True)
$(error nvitop needs Python 3.8 or newer, and '$(PYTHON)' is not; add PYTHON=python3.12 or the like)
endif

# Debian's python3 has no ensurepip until python3-venv is installed; virtualenv needs only pip.
make_venv = $(PYTHON) -m venv $(1) 2>/dev/null || { \
	$(PYTHON) -m pip --quiet install --target .venvs/virtualenv virtualenv && \
	PYTHONPATH=.venvs/virtualenv $(PYTHON) -m virtualenv --quiet $(1); } || { \
	rm -rf $(1); \
	echo 'Cannot create a virtual environment: install pip (on Debian and Ubuntu: python3-venv)' >&2; exit 1; }
install = -m pip --quiet --disable-pip-version-check install

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# An environment for tests and checks, updated when the metadata changes.
$(VENV)/.tests: pyproject.toml
	@echo 'Creating a virtual environment in $(VENV) (once) ...' >&2
	@test -x $(BIN)/python || { $(call make_venv,$(VENV)); }
	@$(BIN)/python $(install) --editable '.[test]'
	@touch $@

$(VENV)/.made: $(VENV)/.tests
	@$(BIN)/python $(install) --editable '.[test,lint]'
	@touch $@

.PHONY: venv
venv: $(VENV)/.made ## create a virtual environment with nvitop, its tests and checks in .venv

# nvitop and its dependencies only.
.venvs/run/.made: pyproject.toml
	@echo 'Installing nvitop in .venvs/run (once) ...' >&2
	@test -x .venvs/run/bin/python || { $(call make_venv,.venvs/run); }
	@.venvs/run/bin/python $(install) --editable .
	@touch $@

.PHONY: run
run: .venvs/run/.made ## show this machine's GPUs, or a simulated machine if there is no driver
	@.venvs/run/bin/python tools/run.py $(ARGS)

.PHONY: test
test: lint ## check style and types, then run the tests on several processors
	@$(PYTEST) $(WORKERS) $(ARGS)

.PHONY: test-only
test-only: $(VENV)/.tests ## run the tests without the checks; ARGS='-x tests/gui' for some of them
	@$(PYTEST) $(ARGS)

.PHONY: lint
lint: $(VENV)/.made ## check style (ruff) and types (mypy --strict, for Linux, Windows and macOS)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@if [ ! -x $(BIN)/mypy ]; then echo 'NOT CHECKED: types (mypy needs Python 3.10 or newer)'; exit; fi; \
	$(BIN)/mypy || exit 1; \
	for platform in win32 darwin; do \
		$(BIN)/mypy --platform $$platform --no-warn-unreachable --cache-dir .mypy_cache/$$platform nvitop || exit 1; \
	done

.PHONY: format
format: $(VENV)/.made ## format the code and apply automatic fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: test-slow
test-slow: $(VENV)/.tests ## run the tests that are too slow for each change
	@$(PYTEST) $(WORKERS) -m 'slow and not (gpu or fleet or owner or recording)' $(ARGS)

# As root, in mounts of its own: real processes in real control groups. -rs lists what was not tested.
.PHONY: test-owners
test-owners: $(VENV)/.tests ## find owners of real processes in control groups, containers and Slurm jobs, as root
	@if unshare --mount --propagation private true 2>/dev/null; then \
	    NVITOP_REAL_OWNERS=1 unshare --mount --propagation private $(PYTEST) -m slow -rs tests/owner $(ARGS); \
	else echo 'NOT TESTED: owners of real processes; this needs root and namespaces'; fi

.venvs/nox/.made: Makefile
	@test -x .venvs/nox/bin/python || { $(call make_venv,.venvs/nox); }
	@.venvs/nox/bin/python $(install) nox
	@touch $@

.PHONY: test-pythons
test-pythons: .venvs/nox/.made ## run the tests on the oldest and newest Python, and those of the library with older NVML bindings
	@$(NOX) -s pythons -- $(ARGS)

.PHONY: test-peers
test-peers: .venvs/nox/.made ## compare with nvitop 1.7 and its exporter, pynvml.smi and igpu
	@$(NOX) -s peers -- $(ARGS)

.PHONY: test-exporter
test-exporter: .venvs/nox/.made ## test the exporter with Prometheus and promtool, if installed, and with nvitop-exporter 1.7
	@$(NOX) -s exporter -- $(ARGS)

# Includes kill -9 in the middle of writing, another user, decompression bombs; then sizes and times.
.PHONY: test-recording
test-recording: $(VENV)/.tests ## test recordings that are killed, hostile or large, and measure size, CPU and seek time
	@$(PYTEST) $(WORKERS) -m slow -rs tests/recording $(ARGS)
	@$(BIN)/python -m benchmarks.recording

.PHONY: test-fleet
test-fleet: $(VENV)/.tests ## test nvitop fleet with Prometheus, if installed: hosts of both kinds, and 1,000 hosts
	@$(PYTEST) -m slow -rsP tests/fleet $(ARGS)

# A normal installation, as users have it: import hooks of an editable one would add to the times.
.PHONY: bench
bench: ## measure times and costs; PEER=DIRECTORY of an environment with another nvitop, RUNS=31 for less noise
	@test -x $(BENCH) || { $(call make_venv,.venvs/bench); }
	@$(BENCH) $(install) --upgrade .
	@rm -rf build *.egg-info
	@$(BENCH) -m benchmarks.programs --runs $(RUNS) --seconds $(RUNS) $(PEER)
	@$(BENCH) -m benchmarks.exporter --seconds $(RUNS) $(PEER)
	@$(BENCH) -m benchmarks.tick
	@$(BENCH) -m benchmarks.growth
	@$(BENCH) -m benchmarks.frames
	@$(BENCH) -m benchmarks.monitor --seconds $(RUNS) --keys 60 $(PEER:%=--peer %/bin/nvitop)

.PHONY: test-callbacks
test-callbacks: .venvs/nox/.made ## run callback and example tests with Keras, Lightning and a CPU build of PyTorch
	@$(NOX) -s callbacks -- $(ARGS)

# FUZZ=60: 150,000 processes with hostile names on screens, in reports, CSV and JSON; a few minutes.
.PHONY: fuzz
fuzz: $(VENV)/.tests ## test with generated hostile input; FUZZ=20 for a third of it, NVITOP_FUZZ_SEED=n for other input
	@NVITOP_FUZZ=$(FUZZ) $(PYTEST) $(WORKERS) -o timeout=1800 tests/fuzz $(ARGS)

# TICKS=20000: three programs at once, about five minutes on two cores.
.PHONY: soak
soak: $(VENV)/.tests ## run the monitor, a collector and a query for TICKS=20000 ticks and check for leaks and delays
	@$(BIN)/python -m tests.soak --ticks $(TICKS) $(ARGS)

# -W -n: warnings and unresolved references are errors.
.PHONY: docs
docs: ## build the documentation in docs/_build/html; needs Python 3.11
	@test -x $(DOCS) || { $(call make_venv,.venvs/docs); }
	@$(DOCS) $(install) --editable . -r docs/requirements.txt
	@$(DOCS) -m sphinx -q -W -n --keep-going docs docs/_build/html
	@$(DOCS) -m docs.check docs/_build/html
	@echo 'Built: docs/_build/html/index.html'

# The program's own tables and screens; tests fail while the documentation differs, and name the target to run.
.PHONY: update-docs
update-docs: $(VENV)/.tests ## update the tables and the reference in the documentation
	@$(BIN)/python -m cogapp -r -p 'from docs.tables import *' README.md docs/*.md docs/reference/metrics.md
	@$(BIN)/python -m docs.reference

.PHONY: pictures
pictures: $(VENV)/.tests ## draw the pictures in the documentation, after a screen has changed
	@$(BIN)/python -m docs.pictures
	@$(BIN)/python -m docs.animation
	@$(BIN)/python -m docs.charts

# A separate environment for the packaging tools, because it is large.
.venvs/delivery/.made: pyproject.toml
	@test -x $(DELIVERY) || { $(call make_venv,.venvs/delivery); }
	@$(DELIVERY) $(install) --editable '.[delivery]'
	@touch $@

.PHONY: share
share: .venvs/delivery/.made ## write the man pages and shell completions in share/
	@$(DELIVERY) tools/make_share.py $(ARGS)

# hadolint has wheels for few platforms; a skipped check prints NOT CHECKED.
.PHONY: lint-files
lint-files: .venvs/delivery/.made ## check shell scripts, Dockerfile, workflows, man pages and completions
	@$(DELIVERY:python=shellcheck) install-nvidia-driver.sh .ci/run share/health/*.sh
	@if [ -x $(DELIVERY:python=hadolint) ]; then $(DELIVERY:python=hadolint) Dockerfile; else echo 'NOT CHECKED: Dockerfile (hadolint is not available)'; fi
	@$(DELIVERY:python=yamllint) --strict share .github .pre-commit-config.yaml .readthedocs.yaml .yamllint.yaml
	@$(DELIVERY:python=kubernetes-validate) --strict --quiet share/kubernetes/nvitop-exporter.yaml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(DELIVERY:python=check-jsonschema) --builtin-schema vendor.readthedocs .readthedocs.yaml
	@$(DELIVERY:python=check-jsonschema) --check-metaschema share/health/health.schema.json
	@$(DELIVERY:python=zizmor) --offline --quiet .github
	@$(DELIVERY) tools/make_share.py --check

.PHONY: build
build: .venvs/delivery/.made ## build and check the wheel and the source distribution in dist/
	@$(DELIVERY) tools/build_package.py

.PHONY: test-package
test-package: build .venvs/nox/.made ## build the wheel, then install and run it on every installed Python
	@$(NOX) -s package

.PHONY: ci
ci: ## run all suites, as CI does, and print the time of each; FUZZ and TICKS as for each of them
	@for suite in $(SUITES); do \
	    started=$$(date +%s); $(MAKE) --no-print-directory $$suite || { echo "FAILED: make $$suite"; exit 1; }; \
	    times="$$times$$(printf '\n%5d s  make %s' $$(($$(date +%s) - started)) $$suite)"; \
	done; echo "$$times"

.PHONY: clean
clean: ## remove everything that the other targets create
	rm -rf $(VENV) .venvs docs/_build build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
