# The whole daily vocabulary. `make help` lists it.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup papers compare test test-all lint doctor lab clean

# The repository's own programs come first; a conda environment made by the set-up is used where it exists.
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.cache/conda/bin:$(PATH)
export EFFORT PAPERS TESTBED
# R and BLAS would otherwise start a thread a processor beside the measurement.
export OMP_NUM_THREADS ?= 1

# Snakemake's executor for Slurm, beside the environment: it asks Slurm at every start.
ifneq (,$(findstring profiles/slurm,$(ARGS)))
export PYTHONPATH := $(CURDIR)/.cache/slurm-executor$(if $(PYTHONPATH),:$(PYTHONPATH))
endif

# A program started by a recipe ends with it, even when make itself is killed.
bound := exec setpriv --pdeathsig TERM

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12
	@echo
	@echo 'EFFORT=smoke|quick|full  PAPERS="name …"  TESTBED=name  DRY_RUN=1  ARGS="options of snakemake"'

setup: ## install what is missing, inside the repository
	@$(bound) scripts/setup

papers: setup ## measure, judge and write the reports
	@whitewire validate
	@$(bound) scripts/alone snakemake $(if $(DRY_RUN),--dry-run) $(ARGS)

compare: setup ## set two result folders side by side: A=name B=name
	@exec whitewire compare '$(A)' '$(B)'

test: setup ## all tests but the slow ones
ifeq ($(ARGS),)
	@$(bound) python -m pytest -m 'not slow' --numprocesses 2 tests/unit
	@$(bound) python -m pytest -m 'not slow' --ignore tests/unit --durations 25
else
	@$(bound) python -m pytest -m 'not slow' $(ARGS)
endif

test-all: setup ## all tests, with the reports of all papers
	@WHITEWIRE_PAPERS="$$(cd config/papers && echo *.yaml | sed 's/[.]yaml//g')" $(bound) python -m pytest $(ARGS)

lint: setup ## style and boundaries
	@exec scripts/lint

doctor: setup ## what this machine can and cannot do
	@exec whitewire doctor $(if $(TESTBED),--testbed '$(TESTBED)')

lab: setup ## a shell on the running testbed
	@exec whitewire lab $(if $(TESTBED),--testbed '$(TESTBED)')

clean: ## remove everything generated but the measurements
	@rm -rf .cache .venv .snakemake .pytest_cache .ruff_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -rf results/compare results/*/reports results/*/*/tidy results/*/*/analysis
	@if [ -d results ]; then echo 'kept: the measurements in results/ (remove that folder to measure again)'; fi
