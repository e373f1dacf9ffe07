# Each target calls one tool. PYTHON chooses the interpreter that the virtual environment is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSTALL := $(BIN)/python $(PIP_INSTALL)
C_FILES = $(shell git ls-files '*.c' '*.h')
CHECKERS := $(VENV)/checkers
COMPILED := pyproject.toml setup.py $(shell find core/include core/src src/tinyude/native -name '*.[ch]')

MINUTES ?= 60

.PHONY: demo check test lint format docs wheel bench reproduce clean fuzz

demo: $(VENV)/installed
	$(BIN)/tinyude demo

test: lint $(CHECKERS)/installed
	tools/install_emulators.sh
	tools/install_browser.sh
	PATH="$$PATH:$(CURDIR)/$(CHECKERS)/bin" $(BIN)/pytest -n 2

# Lint, types and the quick tests: under a minute.
check: lint
	$(BIN)/pytest -q -n 2 -m "not slow"

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/mypy
	$(BIN)/python tools/check_text.py

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(C_FILES)

# The site, warnings as errors; doxygen reads the C header.
docs: $(VENV)/installed-docs
	@command -v doxygen > /dev/null || { echo "make docs needs doxygen: apt-get install doxygen" >&2; exit 1; }
	mkdir -p build/docs
	doxygen docs/Doxyfile
	$(BIN)/sphinx-build -W --keep-going -q -j 2 -b html docs build/docs/html
	$(BIN)/python tools/check_links.py build/docs/html

# Source archive and wheel; the wheel is tried in an environment of its own with no compiler on its path.
wheel: $(VENV)/installed-dev
	rm -rf dist $(VENV)/bare
	TINYUDE_REQUIRE_CORE=1 $(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv $(VENV)/bare
	PATH=$(CURDIR)/$(VENV)/bare/bin python $(PIP_INSTALL) dist/*.whl
	cd dist && PATH=$(CURDIR)/$(VENV)/bare/bin TINYUDE_REQUIRE_CORE=1 python ../tools/try_installed.py

bench: $(VENV)/installed-dev
	$(BIN)/tinyude bench

reproduce: $(VENV)/installed
	$(BIN)/tinyude reproduce all

# Every fuzzer for MINUTES of CPU each; what one finds lies in fuzz/findings.
fuzz: $(VENV)/installed-dev
	$(BIN)/python fuzz/run.py --minutes $(MINUTES)

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/tinyude/native/*.so

# Editable: Python sources are read where they are, C sources are compiled again when one changes.
$(VENV)/installed: $(VENV)/made $(COMPILED)
	$(INSTALL) --no-build-isolation --editable .
	touch $@

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(INSTALL) --no-build-isolation --editable '.[docs]'
	touch $@

# Who develops wants to know that the core does not compile.
$(VENV)/installed-dev: $(VENV)/made $(COMPILED)
	TINYUDE_REQUIRE_CORE=1 $(INSTALL) --no-build-isolation --editable '.[dev]'
	touch $@ $(VENV)/installed

# What judges exported manifests, apart from what we depend on. Its tests are skipped where it cannot be had.
$(CHECKERS)/installed: $(VENV)/made
	$(PYTHON) -m venv $(CHECKERS)
	-$(CHECKERS)/bin/python $(PIP_INSTALL) west idf-component-manager && touch $@

$(VENV)/made: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) setuptools cffi
	touch $@
