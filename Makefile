# All commands for daily use. `make help` lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help asked setup setup-report setup-tests hibench testbed trust calibrate papers claim report compare appendix crate docs reference \
	test test-two-at-once test-timed test-all chaos lint doctor lab clean

# The repository's own programs come first, then a conda environment if the set-up made one. /sbin is added for tc and
# ethtool, because ordinary users of Debian do not have it on their PATH.
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.cache/conda/bin:$(CURDIR)/.cache/bin:$(PATH):/usr/local/sbin:/usr/sbin:/sbin
# Caches of programs stay in the repository, which also works for users without a home.
export XDG_CACHE_HOME := $(CURDIR)/.cache/xdg
export HOME ?= $(CURDIR)/.cache/home
# pip, Java and R fail or change their output if LC_ALL names a locale that the machine lacks.
export LC_ALL := C.UTF-8
# Users' values are plain text that neither make nor the shell expands: recipes read them from the environment only.
export override A := $(value A)
export override AGAIN := $(value AGAIN)
export override B := $(value B)
export override BUDGET := $(value BUDGET)
export override CLAIM := $(value CLAIM)
export override CRATE := $(value CRATE)
export override EFFORT := $(value EFFORT)
export override HIBENCH := $(value HIBENCH)
export override LANES := $(value LANES)
export override PAPERS := $(value PAPERS)
export override PRIVATE := $(value PRIVATE)
export override RAW := $(value RAW)
export override TESTBED := $(value TESTBED)
# Variables that are meant for a user's other programs are not passed on to ours.
unexport $(filter-out PYTHONPATH,$(filter $(subst *,%,$(shell sed '/^\#/d' src/whitewire/foreign.txt)),$(.VARIABLES)))
# Otherwise R and BLAS would start one thread per processor during a measurement.
export OMP_NUM_THREADS ?= 1

# Snakemake's executor for Slurm is outside of the environment, because it calls Slurm at every start.
ifneq (,$(findstring profiles/slurm,$(ARGS)))
export PYTHONPATH := $(CURDIR)/.cache/slurm-executor
else ifeq (,$(findstring $(CURDIR)/,$(PYTHONPATH)))
unexport PYTHONPATH
endif

dry_run := $(if $(filter-out 0 no,$(value DRY_RUN)),--dry-run)

# A program started by a recipe ends with it, even when make itself is killed.
bound := exec setpriv --pdeathsig TERM
# Prefix of commands that write into the repository: fails while another one does so. Not for reading only (DRY_RUN=1).
exclusive := $(if $(dry_run),,scripts/exclusive)

# Runs before any set-up, on the machine's own Python, so that wrong names are reported at once.
asked:
	@! command -v python3 >/dev/null || exec $(within) "$(CURDIR)"/scripts/asked

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 14
	@echo
	@echo 'EFFORT=smoke|quick|full  PAPERS="name …"  CLAIM=id  TESTBED=name  BUDGET=30m  LANES=n  AGAIN=busy  DRY_RUN=1'
	@echo 'ARGS="options of snakemake"  A=name B=name  CRATE=file.zip  RAW=1  PRIVATE=keep  HIBENCH=folder, archive or address'

setup: asked ## install what measuring and reports need, inside the repository
	@$(bound) scripts/setup

setup-report: ## install what reports alone need
	@$(bound) scripts/setup report

setup-tests: ## install also what tests and linters need
	@$(bound) scripts/setup tests

hibench: ## make a private copy of HiBench for the runs that ask for it: HIBENCH=folder, archive or address
	@$(bound) scripts/setup hibench
	@exec whitewire hibench -- "$$HIBENCH"

papers: setup ## measure, judge and write the reports
	@$(bound) $(exclusive) whitewire papers -- $(dry_run) $(ARGS)

# Other commands get the claim by this variable: they ignore CLAIM.
claim: export WHITEWIRE_CLAIM := $(CLAIM)
claim: setup ## measure one claim and its controls, in minutes, and judge it: CLAIM=E-C02
	@$(bound) $(exclusive) whitewire claim -- $(dry_run) $(ARGS)

# Sets of published measurements are papers in a separate folder.
calibrate: within := scripts/calibrate
calibrate: setup ## measure ratios that others published of real clusters in an hour, and set them beside theirs
	@$(bound) $(exclusive) $(within) whitewire papers -- calibrate $(dry_run) $(ARGS)

testbed: asked ## measure links, drives and RDMA alone, and write the testbed's page
	@$(bound) scripts/setup testbed
	@$(bound) $(exclusive) snakemake testbed $(dry_run) $(ARGS)

trust: setup ## measure how far the emulated testbed can be trusted, in 50 minutes, and say so on its page
	@$(exclusive) true
	@whitewire trust --dry-run
	@$(bound) $(exclusive) snakemake trust $(dry_run) $(ARGS)
	@$(bound) $(exclusive) snakemake testbed $(dry_run) $(ARGS)

report: setup-report ## make all reports anew, without measuring: TESTBED=reference, or CRATE=file.zip
	@$(bound) scripts/exclusive whitewire report --testbed="$$TESTBED" --crate="$$CRATE"

compare: setup-report ## set the results of two sites side by side, or pool a folder of crates: A=name B=name
	@exec whitewire compare -- "$$A" $${B:+"$$B"}

appendix: setup-report ## the artifact appendix of a run, in HTML, PDF and Markdown: TESTBED=name or reference
	@exec whitewire appendix --testbed="$$TESTBED"

crate: setup-report ## pack a testbed's results into one file: with RAW=1 raw output too, with PRIVATE=keep all names
	@case "$$RAW" in ''|0|no) RAW= ;; *) RAW=--raw ;; esac; exec whitewire crate $$RAW $${PRIVATE:+--private="$$PRIVATE"}

docs: setup-report ## write the generated pages of documentation to build/docs: keys, factors, metrics, similitude
	@exec whitewire docs

reference: setup-report ## keep the tables of a complete run in results/reference
	@exec whitewire reference $${PRIVATE:+--private="$$PRIVATE"}

# Tests without timing run two at once. The first process makes a run from a clone to its reports, while the second one
# takes the longest others; those that look at the run's reports come after these, and short ones at the end. Tests of
# rates have the machine to themselves.
LONGEST := tests/reports/test_html.py tests/integration/test_block.py tests/contract \
	$(addprefix tests/integration/test_,small_jobs.py existing.py workflow.py)
TIMED := $(addprefix tests/integration/test_,cephfs.py drive.py page_cache.py segment.py slow_links.py survey.py)
OTHERS := $(filter-out $(LONGEST) $(TIMED) tests/contract/% tests/unit/%,$(wildcard tests/*/test_*.py)) tests/unit
tested := python -m pytest -m 'not slow' --durations 25
two_at_once := --numprocesses 2 --dist loadscope --no-loadscope-reorder

# --keep-going: tests of rates run even if others fail.
test: setup-tests ## all tests but the slow ones
ifeq ($(ARGS),)
	@$(bound) $(MAKE) --no-print-directory --keep-going --jobs=1 test-two-at-once test-timed
else
	@$(bound) python -m pytest -m 'not slow' $(ARGS)
endif

test-two-at-once:
	@$(bound) $(tested) $(two_at_once) $(LONGEST) $(OTHERS)

test-timed:
	@$(bound) $(tested) $(TIMED)

test-all: setup-tests ## all tests, with the reports of all papers
	@WHITEWIRE_PAPERS="$$(cd config/papers && echo *.yaml | sed 's/[.]yaml//g')" \
		$(bound) python -m pytest --hypothesis-profile others $(ARGS)

chaos: setup-tests ## kill, fill, stop and cut what measures, for an hour at most: ARGS="--minutes 10 --kinds kill,disk"
	@$(bound) python bench/chaos.py $(ARGS)

lint: setup-tests ## style and boundaries
	@exec scripts/lint

# Needs no set-up, since it helps where set-up fails: uses the set-up's Python if it exists, else the machine's.
doctor: ## what this machine can and cannot do
	@exec workflow/scripts/whitewire doctor $${TESTBED:+--testbed="$$TESTBED"}

lab: setup ## a shell on the running testbed
	@exec whitewire lab $${TESTBED:+--testbed="$$TESTBED"}

clean: ## remove everything generated but the measurements, what `make trust` found, and crates
	@$(bound) scripts/exclusive scripts/clean
