# Two commands for a fresh machine with Python >= 3.11, pip, make and gcc:
#   make demo    classify the built-in toy set, leave pictures and a report in demo/
#   make test    run the tests
# make reproduce runs the paper's experiments (hours; QUICK=1 for minutes) into reproduction/
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Numba does not notice edits in a callee's file, so the cache is keyed by the kernels' text.
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba-$(shell cat src/spinlearn/kernels/*.py | cksum | cut -d' ' -f1)
export MPLBACKEND := Agg

# Real data beside the checkout, if it is there and nothing else was asked for.
SPINLEARN_DATA ?= $(wildcard $(CURDIR)/../shared/data)
export SPINLEARN_DATA

.PHONY: demo reproduce test test-fast fuzz browser lint format bench docs docs-test dist clean

demo: $(VENV)/.app
	$(BIN)/spinlearn demo --out demo

# make reproduce QUICK=1: ten labellings instead of a hundred
reproduce: $(VENV)/.app
	$(BIN)/spinlearn reproduce all --out reproduction $(if $(QUICK),--quick)

test: $(VENV)/.dev browser
	$(BIN)/python -m pytest -n auto --dist worksteal

# Without the tests that are marked slow: about a minute and a half on two cores.
test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

# Damaged files of every kind (MUTATIONS says how many, FIRST where to begin, with other files),
# then KILLS killed runs.
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --mutations $(or $(MUTATIONS),20000) --first $(or $(FIRST),0)
	$(BIN)/python -m tests.fuzz.kills --times $(or $(KILLS),50)

# The explorer is tested in Chromium. Root on Debian or Ubuntu gets it; elsewhere those tests are
# skipped with a reason, but fail where CI is set.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	      --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; \
	  else \
	    echo "no Chromium: install chromium and chromium-driver for the explorer's tests"; \
	  fi; }

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/baselines.py
	$(BIN)/python benchmarks/minimizers.py

# The site, in docs/_build/html: three explorers, every gallery script run, warnings are errors.
# Nothing is fetched once the packages are there.
docs: $(VENV)/.docs
	$(BIN)/python docs/explorers.py docs/_explorers/explorers
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Looks at every page in Chromium, wide and narrow, light and dark; follows every link.
docs-test: docs $(VENV)/.dev browser
	$(BIN)/python -m pytest tests/site

# A release: sdist and wheel in dist/, checked, the wheel tried out in a new environment from an
# empty folder. PYTHON=python3.13 tries it with another Python.
RELEASE := .cache/release
dist: $(RELEASE)/.ready
	rm -rf dist
	$(RELEASE)/bin/python -m build --outdir dist .
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/cffconvert --validate -i CITATION.cff
	$(RELEASE)/bin/python tools/check_dist.py dist --python $(PYTHON)

$(RELEASE)/.ready: tools/requirements.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet -r $<
	touch $@

$(VENV)/.app: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[app]'
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.app
	$(BIN)/python -m pip install --quiet -e '.[app,dev]'
	touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.app
	$(BIN)/python -m pip install --quiet -e '.[app,docs]'
	touch $@

clean:
	rm -rf $(VENV) .cache dist demo reproduction docs/_build docs/_explorers docs/auto_gallery \
	  docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
