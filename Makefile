# One command for each thing that a person does here; `make` alone lists them.
# GNU make 3.81, the one that macOS has, is enough.

SHELL := /bin/sh
VENV  := .venv
PY    := $(VENV)/bin/python
# Processes that the tests and the notebooks are shared out to.
JOBS  ?= 2

# What each set-up installs: `make lab` needs less than the tests do.
LAB_EXTRAS  := lab
TEST_EXTRAS := lab,test,dev,bench

.PHONY: help lab demo test lint unit examples notebooks check refresh clean FORCE

help:
	@echo 'commonboard: see what goes wrong when several agents write to one memory'
	@echo
	@echo '  make lab      open the course in JupyterLab, at its first notebook; set up first where needed'
	@echo '  make test     lint, types, tests, examples of the documentation, and every notebook (about five minutes)'
	@echo '  make demo     compare three policies on one crew, and write demo.html: table, chart and the picture of a loss'
	@echo '  make check    the slow tests: a real browser, builds, long searches'
	@echo
	@echo 'When you change the code:'
	@echo '  make lint       style and types alone'
	@echo '  make unit       the fast tests alone; one file: $(PY) -m pytest -p no:nbval tests/test_house.py'
	@echo '  make examples   the examples in docstrings, README.md and docs/'
	@echo '  make notebooks  run every notebook and compare each output with the one that is saved'
	@echo '  make refresh    run every notebook and save its new outputs; read the diff before you commit it'
	@echo '  make clean      take away $(VENV) and all caches'
	@echo
	@echo 'Set-up happens in $(VENV), by itself, and again only when pyproject.toml or constraints.txt has changed.'
	@echo 'To choose the Python: make test PYTHON=python3.12   (3.11 or newer)'

# --- what people call ---------------------------------------------------------------------------------------------

lab: $(VENV)/.set-up-lab
	$(PY) -m jupyterlab `test "$$(id -u)" != 0 || echo --allow-root` $(LAB_FLAGS) \
		--ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00_the_incident.ipynb

test: lint unit examples notebooks

lint: $(VENV)/.set-up-test
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

# Without nbval's plugin: loading it alone takes seconds.
unit: $(VENV)/.set-up-test
	$(PY) -m pytest -p no:nbval -n $(JOBS) -m 'not slow and not browser' --ignore=tests/test_documentation.py tests

examples: $(VENV)/.set-up-test
	$(PY) -m pytest -p no:nbval --doctest-modules toolkit tests/test_documentation.py

# Strict: each output is compared with the saved one. A notebook's cells share a kernel, so one process runs them all (loadscope).
# pytest fails where it finds no notebook. The environment is the one that `make refresh` saves outputs in.
NOTEBOOK_ENV := env -u MPLBACKEND PYTHONHASHSEED=0 TZ=UTC COLUMNS=80 CI=true
notebooks: $(VENV)/.set-up-test
	$(NOTEBOOK_ENV) $(PY) -m pytest --nbval --nbval-current-env --nbval-cell-timeout=60 --nbval-kernel-startup-timeout=120 \
		--nbval-sanitize-with=tests/nbval_sanitize.cfg -n $(JOBS) --dist loadscope --durations=10 notebooks

check: $(VENV)/.set-up-test
	$(PY) -m pytest -p no:nbval -m 'slow or browser' tests

demo: $(VENV)/.set-up-lab
	$(VENV)/bin/commonboard compare --html demo.html

refresh: $(VENV)/.set-up-test
	$(NOTEBOOK_ENV) $(PY) -m commonboard.course.validation refresh notebooks

clean:
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find toolkit tests notebooks -name __pycache__ -prune -exec rm -rf {} +

# --- set-up -------------------------------------------------------------------------------------------------------

# A Python is good when it is new enough and can make an environment (Debian has that part in a package of its own).
GOOD    := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
VERSION := import sys; print(sys.version_info[:2])

# Set up anew where .venv has no Python that runs, or another one than PYTHON asks for.
VENV_VERSION := $(shell $(PY) -c '$(VERSION)' 2>/dev/null)
ifeq ($(VENV_VERSION),)
ANEW := FORCE
else ifneq ($(PYTHON),)
ifneq ($(VENV_VERSION),$(shell $(PYTHON) -c '$(VERSION)' 2>/dev/null))
ANEW := FORCE
endif
endif

$(VENV)/.set-up-lab: pyproject.toml constraints.txt $(ANEW)
	@$(call set-up,$(LAB_EXTRAS))
	@touch $@

$(VENV)/.set-up-test: pyproject.toml constraints.txt $(ANEW)
	@$(call set-up,$(TEST_EXTRAS))
	@touch $@ $(VENV)/.set-up-lab

define set-up
$(if $(ANEW),$(find-python); echo "Setting up $(VENV) with `$$python --version`: some three minutes."; \
  "$$python" -m venv --clear $(VENV) &&,) \
$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e '.[$(1)]' && \
mkdir -p $(VENV)/share/jupyter/lab/settings && echo '{ $(LAB_SETTINGS) }' > $(VENV)/share/jupyter/lab/settings/overrides.json
endef

# JupyterLab asks nobody for news, and saves what a slider showed, so that a notebook looks the same when it is opened again.
LAB_SETTINGS := \
  "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}, \
  "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": true}

define find-python
python=; \
for each in $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
  if "$$each" -c '$(GOOD)' >/dev/null 2>&1; then python=$$each; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo 'commonboard needs Python 3.11 or newer, with its venv module, and found none.' >&2; \
  echo 'Looked for: $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3 python)' >&2; \
  for each in $(if $(PYTHON),$(PYTHON),python3); do \
    echo "  $$each is `$$each --version 2>&1 || echo not there`" >&2; \
  done; \
  echo 'Install one (on Debian or Ubuntu: apt-get install python3 python3-venv),' >&2; \
  echo 'or name the one that you have: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12' >&2; \
  exit 1; \
fi
endef
