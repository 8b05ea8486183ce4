# Every target sets up what it needs; on a fresh machine with Python 3.11 or newer each can be the first.
PYTHON ?= python3
DATA ?= ../shared/data
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test check prove bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade 'pip>=24'
	$(RUN) -m pip install --quiet --constraint constraints.txt torch
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(READY)
	$(RUN) -m nscma_torch demo

test: $(READY)
	$(RUN) -m pytest

check: $(READY)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

prove: $(READY)
	$(RUN) -m pytest -m 'prove or not prove' tests
	$(RUN) eval/prove.py --data $(DATA)

bench: $(READY)
	$(RUN) kernels/bench.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
