# Every target makes its own environment in $(VENV) where there is none.
PYTHON ?= python3
VENV ?= .venv
INSTALLED = $(VENV)/.installed
RUN = $(VENV)/bin/python
# A process a core (four at most: each needs half a GB), with one thread each.
PYTEST = OMP_NUM_THREADS=1 $(RUN) -m pytest --numprocesses auto --maxprocesses 4

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-all check bench constraints

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

demo: $(INSTALLED)  ## train a pronunciation model in about three minutes and look at it
	$(RUN) examples/demo.py

test: $(INSTALLED)  ## every test but the slow ones
	$(PYTEST) -m "not slow"

test-slow: $(INSTALLED)  ## the slow tests
	$(PYTEST) -m slow

test-all: $(INSTALLED)  ## every test
	$(PYTEST)

check: $(INSTALLED)  ## format, lint, types, import rule
	$(RUN) -m ruff format --check
	$(RUN) -m ruff check
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports --no-logo

bench: $(INSTALLED)  ## measure speed
	$(RUN) -m benchmarks

$(INSTALLED): pyproject.toml constraints.txt
	$(if $(python_problem),$(error $(python_problem)))
	@$(RUN) -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@echo "Installing regard and its tools into $(VENV) (PyTorch is large: this takes a while)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[all,dev]'
	@touch $@

constraints:  ## pin every package in constraints.txt again, at its newest (torch stays)
	$(PYTHON) -m venv --clear build/pins
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check \
		"`grep '^torch==' constraints.txt`" --editable '.[all,dev]'
	(grep '^#' constraints.txt; build/pins/bin/python -m pip freeze --exclude-editable \
		| sed 's/^\(torch==[0-9.]*\)+.*/\1/') > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -r build/pins

# One sentence where PYTHON cannot make the environment, nothing where it can.
python_problem = $(shell \
	found=`$(PYTHON) --version 2>&1` || { \
		echo 'regard needs Python 3.11 or newer, and `$(PYTHON)` does not run: name one that does, as in `make test PYTHON=python3.12`'; exit; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "regard needs Python 3.11 or newer, and \`$(PYTHON)\` is $$found: name a newer one, as in \`make test PYTHON=python3.12\`"; exit; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		echo '`$(PYTHON)` cannot make virtual environments, because its venv or ensurepip module is missing: install it (on Debian and Ubuntu, `apt install python3-venv`)')
