# Each target calls one tool. PYTHON chooses the interpreter that the virtual environment is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
COMPILED := pyproject.toml setup.py $(wildcard core/include/*.h core/src/*.[ch] src/tinyude/_native/*.[ch])

.PHONY: demo test lint bench reproduce clean

demo: $(VENV)/installed
	$(BIN)/tinyude demo

test: lint
	tools/install_emulators.sh
	$(BIN)/pytest -n 2

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/installed-dev
	$(BIN)/tinyude bench

reproduce: $(VENV)/installed
	$(BIN)/tinyude reproduce all

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/tinyude/*.so

# Editable: Python sources are read where they are, C sources are compiled again when one changes.
$(VENV)/installed: $(VENV)/made $(COMPILED)
	$(INSTALL) --no-build-isolation --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/made $(COMPILED)
	$(INSTALL) --no-build-isolation --editable '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)/made: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) setuptools cffi
	touch $@
