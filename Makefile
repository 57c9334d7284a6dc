# Everything here needs only Python 3.11 or newer, git and make. `make help` lists the targets.

# An existing .venv is kept. Naming another version (PYTHON=python3.12) replaces it.
PYTHON ?= $(or $(wildcard .venv/bin/python),python3)
RUN := .venv/bin/python

LIBRARY := .venv/lib/$(shell $(PYTHON) -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
INSTALLED := $(LIBRARY)/heedful-installed

.DEFAULT_GOAL := help
.PHONY: help venv train test pytest test-weekly test-versions lint types format hooks docs bench bench-gpu bench-startup bench-accuracy study study-report study-verify constraints clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(INSTALLED)  ## create .venv and install the pinned dependencies, if they changed

train: venv  ## train a first model on the bundled reviews
	$(RUN) -m src.train model/attention=luong_general

test: lint  ## check style and types, and run the tests
	@$(MAKE) --no-print-directory --jobs=2 types pytest

pytest: venv
	$(RUN) -m pytest -n 2 --dist worksteal

test-weekly: venv  ## run the tests that take too long for every change
	$(RUN) -m pytest -n 2 --dist worksteal -m weekly

# VERSIONS=newest takes the newest, with pre-releases. In GitHub's CI, uv takes torch for CPUs (UV_TORCH_BACKEND).
VERSIONS := lowest
lowest := --resolution lowest-direct
newest := --prerelease allow

test-versions:  ## run the tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	$(PYTHON) -m venv --clear .venv-$(VERSIONS)
	.venv-$(VERSIONS)/bin/python -m pip install -qq uv
	.venv-$(VERSIONS)/bin/uv pip install --quiet --python .venv-$(VERSIONS) $($(VERSIONS)) --editable '.[dev]'
	.venv-$(VERSIONS)/bin/python -m pytest -n 2 --dist worksteal

lint: venv  ## check style and formatting
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check

types: venv  ## check types
	$(RUN) -m mypy src/heedful src/hydra_plugins

format: venv  ## fix style and formatting in place
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

hooks: venv  ## install git hooks that run the checks at every commit
	$(RUN) -m pre_commit install

docs: venv  ## write docs/options.md from the config files
	$(RUN) -m docs.options

# Options of a benchmark: make bench BENCH="--data-path=… --works=bilstm"; each prints its options with --help.
bench: venv  ## measure training speed on the CPU against plain PyTorch
	$(RUN) -m benchmarks.speed $(BENCH)

bench-gpu: venv  ## the same on a CUDA GPU, in bf16, without and with CUDA graphs
	$(RUN) -m benchmarks.speed --device=cuda --graphs=off,on $(BENCH)

bench-startup: venv  ## measure the time to the first training step, and memory
	$(RUN) -m benchmarks.startup $(BENCH)

bench-accuracy: venv  ## measure test accuracy by seconds of training, also of fastText
	$(RUN) -m benchmarks.time_to_accuracy $(BENCH)

# make study STUDY="--path imdb=<folder> --path rotten_tomatoes=<train.tsv>"
study: venv  ## run the sweeps of the study that are not released yet
	$(RUN) -m studies.run $(STUDY)

study-report: venv  ## write the reports in docs/ from the released records
	$(RUN) -m studies.report

study-verify: venv  ## compute the reports again from the released records, and compare
	$(RUN) -m studies.report --check

constraints: venv  ## pin what pyproject.toml asks for; pins that still suit stay
	$(RUN) -m pip install -qq uv
	printf 'pip\nsetuptools\nhatchling\n' | $(RUN) -m uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--no-annotate --custom-compile-command 'make constraints' --output-file constraints.txt pyproject.toml -

clean:  ## remove caches (keeps .venv and outputs)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(LIBRARY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Heedful needs Python 3.11 or newer; name one: make venv PYTHON=python3.13")'
	@echo "Creating .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }

# The tools that build packages come first and pinned: they build Heedful, and what has no wheel.
$(INSTALLED): pyproject.toml constraints.txt | $(LIBRARY)
	@echo "Installing the dependencies pinned in constraints.txt into .venv; the first time takes some minutes"
	@$(RUN) -m pip install -qq --disable-pip-version-check --constraint constraints.txt pip setuptools hatchling
	@$(RUN) -m pip install -qq --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@
