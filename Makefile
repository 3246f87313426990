# Sundial. `make help` lists what can be done; everything else is behind the command `sundial` (.venv/bin/sundial --help).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
SUNDIAL := .venv/bin/sundial
export PYTHONPATH :=
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup run check test test-all lint docs pictures stop status clean distclean bench jars

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: ## virtual environment, jars and an archive of classes, as locked; nothing to do where they are there
	@$(PYTHON) -m stack.install.setup

# The archive only makes Spark start faster: what looks at a stack, or stops it, does not wait for it.
.PHONY: ready
ready:
	@$(PYTHON) -m stack.install.setup --no-archive

run: ready ## start everything, load history, build the baseline, score live readings, print the first anomalies
	@$(SUNDIAL) run $(if $(PORT_BASE),--port-base $(PORT_BASE))
	@$(PYTHON) -m stack.install.setup

# A worker that crashes ends the run: with one in its place, the run may wait for ever.
PYTEST = .venv/bin/pytest --no-loadscope-reorder --max-worker-restart=0 --durations=15

check: lint ## lint, types, and the tests without a broker and without Spark jobs on tables; at most five minutes
	@tests/chromium.sh
	$(PYTEST) -n 3 --tier check $(ARGS)

test: lint ## every kind of real part at least once, with a broker, a registry and Airflow of its own; at most 15 minutes
	@tests/chromium.sh
	$(PYTEST) -n 2 --tier test $(ARGS)

test-all: lint ## everything, about two and a half hours; SHARD=2/3 runs the second of three parts
	@tests/chromium.sh
	@tests/promtool.sh
	SUNDIAL_TEST_PROFILE=thorough $(PYTEST) -n 2 --tier all $(if $(SHARD),--shard $(SHARD)) $(ARGS)

DENO = DENO_DIR=build/deno DENO_NO_UPDATE_CHECK=1 .venv/bin/deno

lint: setup ## style, format and types, of Python and of the page's JavaScript
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	@$(DENO) lint --quiet --config serving/deno.json serving/static
	@$(DENO) check --quiet --no-remote --config serving/deno.json serving/static/*.js

docs: setup ## the pages of docs/ as a site in build/site, with every link verified
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

pictures: setup ## the report and the pictures of docs/detection.md, made again
	@tests/chromium.sh
	.venv/bin/python docs/pictures.py

stop: ready ## stop everything that `make run` started; its data stays
	@$(SUNDIAL) down

status: ready ## processes, streams, baseline in force
	@$(SUNDIAL) status

clean: ready ## stop, and delete the data
	@$(SUNDIAL) clean

distclean: clean ## delete the virtual environment and the jars too
	rm -rf .venv .jars .classes .jars.draft .jars.old build *.egg-info

bench: setup ## a benchmark: make bench NAME=latency
	@test -n "$(NAME)" || { echo "which one? make bench NAME=latency"; exit 2; }
	.venv/bin/python -m bench.$(NAME) $(ARGS)

jars: ## fetch the jars of ivy.xml; LOCK=1 rewrites ivy.sha256 after a change
	@$(PYTHON) -m stack.install.setup $(if $(LOCK),--lock-jars)
