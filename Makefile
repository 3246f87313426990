# Sundial. `make help` lists what can be done; everything else is behind the command `sundial` (.venv/bin/sundial --help).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
SUNDIAL := .venv/bin/sundial
export PYTHONPATH :=

.DEFAULT_GOAL := help
.PHONY: help setup run test lint stop status clean distclean bench jars

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: ## virtual environment and jars, as locked; nothing to do where they are there
	@$(PYTHON) -m stack.bootstrap

run: setup ## start everything, load history, build the baseline, score live readings, print the first anomalies
	@$(SUNDIAL) run $(if $(PORT_BASE),--port-base $(PORT_BASE))

test: lint ## lint and every test; the end-to-end ones start a broker, a registry and Airflow of their own
	@tests/chromium.sh
	.venv/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=15 $(ARGS)

lint: setup ## style and format
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

stop: setup ## stop everything that `make run` started; its data stays
	@$(SUNDIAL) down

status: setup ## processes, streams, baseline in force
	@$(SUNDIAL) status

clean: setup ## stop, and delete the data
	@$(SUNDIAL) clean

distclean: clean ## delete the virtual environment and the jars too
	rm -rf .venv .jars .classes .jars.draft .jars.old build *.egg-info

bench: setup ## a benchmark: make bench NAME=latency
	@test -n "$(NAME)" || { echo "which one? make bench NAME=latency"; exit 2; }
	.venv/bin/python -m bench.$(NAME) $(ARGS)

jars: ## fetch the jars of ivy.xml; LOCK=1 rewrites ivy.sha256 after a change
	@$(PYTHON) -m stack.bootstrap $(if $(LOCK),--lock-jars)
