# `make test` and `make demo` are all the set-up there is: each builds the environment it needs
# from the hashed files in requirements/, which name no index.

PYTHON ?= python3
# Test processes. Two, whatever the machine: the engine tests start processes of their own.
WORKERS ?= 2
# Passed on by `make demo` (to the demo) and by `make test` and its like (to pytest).
ARGS ?=

PIP_INSTALL := pip install -qq --no-input --disable-pip-version-check
NEEDS_PYTHON := import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	f"Python 3.11 or newer is needed; this is {sys.version.split()[0]} (make PYTHON=...)")

REQUIREMENTS := requirements/dev.txt requirements/dev-3.13.txt
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# These tiers need more than pip can supply.
OUTER_TIERS := tests/browser tests/peers
# The hand-written files of the twin: line 1 does not say "generated". Looked up when used.
TWIN_BY_HAND = $(shell grep -rLs --include='*.py' '^. twin: generated' src/dex_agents_sync tests/sync)

.DEFAULT_GOAL := help
.PHONY: help venv demo-venv demo test test-browser coverage lint format types twin twin-check \
	check bench lock clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

venv: .venv/.installed ## build the development environment in .venv

# The two steps have a stamp each: new requirements build the environment afresh, so that nothing
# old lingers; a new pyproject.toml only installs the project again.
.venv/.requirements: $(REQUIREMENTS)
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m $(PIP_INSTALL) --require-hashes $(REQUIREMENTS:%=-r %)
	@touch $@

.venv/.installed: .venv/.requirements pyproject.toml
	$(BIN)/python -m $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# The demo has an environment of its own even where .venv exists: it is quick to build, and what
# is demonstrated is then what the short list in requirements/demo.txt gives a newcomer. The
# project is not installed into it (that would take a build backend) but found on the path.
demo-venv: .venv-demo/.requirements ## build the demo's environment in .venv-demo

.venv-demo/.requirements: requirements/demo.txt
	@$(PYTHON) -c '$(NEEDS_PYTHON)'
	$(PYTHON) -m venv --clear .venv-demo
	.venv-demo/bin/python -m $(PIP_INSTALL) --require-hashes -r requirements/demo.txt
	@touch $@

demo: .venv-demo/.requirements ## start the Flask chat page (ARGS="--once 'refund order 7'")
	PYTHONPATH="$(CURDIR)/src" .venv-demo/bin/python -m examples.flask $(ARGS)

test: venv ## run all tests that pip can supply (ARGS="-k name")
	$(PYTEST) -n $(WORKERS) --dist loadfile $(OUTER_TIERS:%=--ignore=%) $(ARGS)

test-browser: venv ## run the browser tests; needs Debian's chromium in /usr/bin
	$(PYTEST) tests/browser $(ARGS)

coverage: venv ## report coverage of both packages; nothing is gated on it
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(OUTER_TIERS:%=--ignore=%) $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lint: venv ## check format and lint
	$(BIN)/ruff format --check . $(TWIN_BY_HAND)
	$(BIN)/ruff check .
	$(BIN)/ruff check --config 'lint.per-file-ignores = {}' $(TWIN_BY_HAND)

format: venv ## format and fix what lint would report
	$(BIN)/ruff check --fix .
	$(BIN)/ruff check --fix --config 'lint.per-file-ignores = {}' $(TWIN_BY_HAND)
	$(BIN)/ruff format . $(TWIN_BY_HAND)

types: venv ## run both type checkers
	$(BIN)/mypy
	$(BIN)/pyright

twin: venv ## write the threaded twin from its source
	$(BIN)/python -m tools.twin

twin-check: venv ## check that the threaded twin is what its source gives
	$(BIN)/python -m tools.twin --check

check: lint types twin-check test ## lint, types, twin-check and test

bench: venv ## time one turn
	$(BIN)/python -m benchmarks.turn $(ARGS)

# pip-tools resolves; it stays out of .venv, because it takes a pip of its own liking.
lock: ## write requirements/demo.txt and dev.txt from their .in files
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m $(PIP_INSTALL) 'pip-tools>=7.6,<8'
	for name in demo dev; do \
		CUSTOM_COMPILE_COMMAND='make lock' .venv-lock/bin/pip-compile --quiet --generate-hashes \
			--strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
			--no-emit-trusted-host --no-emit-options \
			--output-file requirements/$$name.txt requirements/$$name.in || exit 1; \
	done
	rm -rf .venv-lock

clean: ## remove everything that make made
	rm -rf .venv .venv-demo .venv-lock .mypy_cache .pytest_cache .ruff_cache .hypothesis \
		build dist .coverage .coverage.*
	find src tests tools examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
