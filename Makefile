# Every command that people and CI run. Each makes what it needs first: a machine with Python 3.11 or newer, Go, kubectl
# and make is enough.

PYTHON ?= python3
# Processes that share the tests out; each runs a control plane, so on large machines there are not as many as cores.
WORKERS ?= auto
# The version of Kubernetes whose control plane the tests run, such as 1.38.0-alpha.0; empty for the default one. Its
# programs have a folder of their own.
export KUBERNETES ?=
VENV := .venv
RUN := $(VENV)/bin/python
# What is in the virtual environment: what Muster needs to run, what the tests and linters need, what a release needs.
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
RELEASING := $(VENV)/.releasing
FOLDERS := framework operator plugins sandbox testing
# Tests of the engine and of plugins, in folders that need nothing but Python.
QUICK := $(addprefix tests/,cache config framework leader model plugins preemption queue runtime scheduler)
# Tests that draw examples of whatever others may write.
FUZZED := $(wildcard tests/*/test_fuzzed_*.py)
# Programs of other projects that tests run beside Muster.
NEIGHBOURS := jobset lws mpi-operator trainer kwok karpenter
# Tests start hundreds of processes, each of which would compile all modules again where no bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE
# The folders under their import names, for mypy and editors, which do not follow an editable install's mapping.
LINKS := $(FOLDERS:%=build/typing/muster/%)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick lint lint-style lint-types lint-imports lint-house bench bench-all compare-all tables \
	bench-backlog bench-beside bench-gangs bench-latency bench-loop bench-native bench-preemption bench-quotas bench-storm \
	bench-shapes bench-scale bench-topology bench-upstream bench-vast bench-web parity parity-groups parity-preemption \
	simulate-faults simulate-all simulate-quotas simulate-tenants simulate-waits real-tenants real-faults soak fuzz bounds \
	nightly attack venv control-plane browser promtool screenshots release site e2e \
	neighbours

help: ## List the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(RUNNABLE) ## Show Muster at work on a cluster of its own in this terminal
	$(VENV)/bin/muster demo

test: $(INSTALLED) control-plane ## Run every test against a real API server
	-@$(MAKE) --no-print-directory --keep-going browser promtool
	$(RUN) -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 $(PYTEST_ARGS)

test-quick: $(INSTALLED) ## Run tests that need no control plane, for a first verdict in about a minute
	$(RUN) -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 -m "not slow" $(QUICK) $(PYTEST_ARGS)

lint: lint-style lint-types lint-imports lint-house ## Check style, types, the direction of imports and the house rules

lint-style: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

lint-types: $(INSTALLED) $(LINKS)
	$(VENV)/bin/mypy

lint-imports: $(INSTALLED) $(LINKS)
	PYTHONPATH=build/typing $(VENV)/bin/lint-imports

lint-house: $(INSTALLED)
	$(RUN) -m tests.tooling.house

bench: $(INSTALLED) control-plane ## Measure Muster and kube-scheduler side by side on single pods
	$(RUN) -m bench.drain $(BENCH_ARGS)

bench-loop: $(INSTALLED) ## Measure Muster on a stand-in for the API server that costs nothing
	$(RUN) -m bench.loop $(BENCH_ARGS)

bench-quotas: $(INSTALLED) ## Measure what 5 and 500 ElasticQuotas cost, on the stand-in
	$(RUN) -m bench.quotas $(BENCH_ARGS)

bench-vast: $(INSTALLED) ## Measure Muster on 50,000 nodes with 500,000 running pods, on the stand-in
	$(RUN) -m bench.vast $(BENCH_ARGS)

bench-latency: $(INSTALLED) control-plane ## Measure how long pods wait that arrive at 100, 300 and 500 a second
	$(RUN) -m bench.latency $(BENCH_ARGS)

bench-beside: $(INSTALLED) control-plane ## Measure how long pods wait while a gang of 3,000 is decided
	$(RUN) -m bench.beside $(BENCH_ARGS)

bench-gangs: $(INSTALLED) control-plane ## Measure Muster on groups of pods
	$(RUN) -m bench.gangs $(BENCH_ARGS)

bench-native: $(INSTALLED) control-plane ## Measure both on Kubernetes' own groups of pods
	$(RUN) -m bench.native $(BENCH_ARGS)

bench-backlog: $(INSTALLED) control-plane ## Measure both on a full cluster with thousands of pods that wait
	$(RUN) -m bench.backlog $(BENCH_ARGS)

bench-storm: $(INSTALLED) control-plane ## Measure Muster on thousands of pods that cannot be scheduled, under many events
	$(RUN) -m bench.storm $(BENCH_ARGS)

bench-preemption: $(INSTALLED) control-plane ## Measure both where pods are evicted for others
	$(RUN) -m bench.preemption $(BENCH_ARGS)

bench-shapes: $(INSTALLED) control-plane ## Measure both on pods that look at other pods
	$(RUN) -m bench.shapes $(BENCH_ARGS)

bench-scale: $(INSTALLED) control-plane ## Measure both where 100,000 pods and more run already
	$(RUN) -m bench.crowd $(BENCH_ARGS)

bench-topology: $(INSTALLED) control-plane ## Measure both on gangs that need one rack each
	$(RUN) -m bench.topology $(BENCH_ARGS)

bench-upstream: $(INSTALLED) control-plane ## Play the workloads of kube-scheduler's own benchmark against both
	$(RUN) -m bench.upstream $(BENCH_ARGS)

bench-all: $(INSTALLED) control-plane browser ## Measure all that the pages show, keep it, and bring the pages up to date
	$(RUN) -m bench measure $(BENCHMARKS); status=$$?; \
	$(if $(BENCHMARKS),,$(MAKE) --no-print-directory --keep-going compare-all simulate-all || status=1;) \
	$(RUN) -m bench tables --write && exit $$status

compare-all: $(INSTALLED) control-plane ## Compare with kube-scheduler all that the pages show, and keep it, too
	$(RUN) -m tests.parity --record; status=$$?; \
	$(RUN) -m tests.gangscheduling.parity --record || status=1; \
	$(RUN) -m tests.gangscheduling.parity 45 15 --trees --record || status=1; \
	$(RUN) -m tests.controlplane.build e2e-tests && $(RUN) -m tests.conformance --record || status=1; \
	$(RUN) -m bench tables --write && exit $$status

tables: $(INSTALLED) ## Bring the tables of README.md and docs/ up to date with the results that are kept
	$(RUN) -m bench tables --write

parity: $(INSTALLED) control-plane ## Compare Muster's decisions with kube-scheduler's on random clusters
	$(RUN) -m tests.parity $(SEEDS)

parity-preemption: $(INSTALLED) control-plane ## Compare the victims of both on random full clusters: SEEDS="1-100"
	$(RUN) -m tests.parity 0 $(or $(SEEDS),1-100)

parity-groups: $(INSTALLED) control-plane ## Compare both on random situations of Kubernetes' own groups
	$(RUN) -m tests.gangscheduling.parity $(SITUATIONS)

e2e: $(INSTALLED) control-plane ## Run Kubernetes' own end-to-end tests of scheduling with both: E2E_ARGS="--focus Gang"
	@$(RUN) -m tests.controlplane.build e2e-tests
	$(RUN) -m tests.conformance $(E2E_ARGS)

neighbours: $(INSTALLED) control-plane ## Run JobSet, LeaderWorkerSet, MPI Operator, Trainer and Karpenter with gangs of theirs
	@$(RUN) -m tests.controlplane.build $(NEIGHBOURS)
	$(RUN) -m pytest -m "neighbours or not neighbours" tests/neighbours $(PYTEST_ARGS)

simulate-faults: $(INSTALLED) ## Play seeds of a simulated cluster with every fault: SEEDS="1-300"
	$(RUN) -m muster.testing.simulation $(or $(SEEDS),1-300)

simulate-quotas: $(INSTALLED) ## Play histories of namespaces that borrow and claim, and that must not evict in turn: SEEDS="1-10000"
	$(RUN) -m tests.capacityscheduling.histories $(or $(SEEDS),1-10000)

simulate-waits: $(INSTALLED) ## Play histories of namespaces in time, and print how long anybody waits beside the bounds: SEEDS="1-1000"
	$(RUN) -m tests.capacityscheduling.waits $(or $(SEEDS),1-1000)

simulate-tenants: $(INSTALLED) ## Let three tenants with more work than their shares share a simulated cluster, and print their shares
	$(RUN) -m tests.capacityscheduling.tenants simulated

simulate-all: $(INSTALLED) ## Play ten thousand seeds, continuing an interrupted run of this commit, and keep what took part
	journal=build/seeds-$$($(RUN) -m bench commit).jsonl && \
	$(RUN) -m bench record simulation -- -m muster.testing.simulation --output json --journal $$journal $(or $(SEEDS),0-9999); \
	status=$$?; \
	$(RUN) -m bench tables --write && exit $$status

real-tenants: $(INSTALLED) control-plane ## Let the same tenants share a cluster of a real API server for six minutes
	$(RUN) -m tests.capacityscheduling.tenants real

real-faults: $(INSTALLED) control-plane ## Kill, stop and cut off real processes and count what is lost: FAULTS="kill"
	$(RUN) -m tests.ha.faults $(FAULTS)

soak: $(INSTALLED) control-plane ## Run Muster for 30 minutes under load and see what climbs: SOAK_ARGS="--minutes 5"
	$(RUN) -m bench.soak $(SOAK_ARGS)

fuzz: $(INSTALLED) control-plane ## Feed fresh random input to all that is read; what fails is printed to be kept
	HYPOTHESIS_PROFILE=nightly $(RUN) -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 $(FUZZED) $(PYTEST_ARGS)

bounds: $(INSTALLED) ## Verify when gangs in need of a reservation start, in 200 random clusters of each situation
	HYPOTHESIS_PROFILE=nightly $(RUN) -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 --dist=worksteal tests/reservation/test_bounds.py $(PYTEST_ARGS)

nightly: $(INSTALLED) control-plane ## All that takes long: ten thousand seeds, fresh random input, bounds of starts, parity, faults of real processes, Kubernetes' tests, neighbours, the soak
	$(RUN) -m muster.testing.simulation --quiet $(or $(SEEDS),1-10000)
	$(RUN) -m tests.capacityscheduling.histories $(or $(SEEDS),1-10000)
	$(MAKE) --no-print-directory simulate-waits simulate-tenants parity real-tenants fuzz bounds real-faults e2e neighbours soak

attack: $(INSTALLED) control-plane ## Attack Muster in every known way and print what others notice
	$(RUN) -m bench.attack $(BENCH_ARGS)

bench-web: $(INSTALLED) browser ## Measure how long the web pages of a large cluster take to draw
	$(RUN) -m bench.pages $(BENCH_ARGS)

screenshots: $(INSTALLED) browser ## Draw the pictures of the web pages that the README shows
	$(RUN) -m tests.web.screenshots

release: $(RELEASING) control-plane ## Make, check and list all that a release consists of, in dist/release: OWNER= IMAGE= TAG=
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(RUN) -m deploy.release \
		$(if $(OWNER),--owner=$(OWNER)) $(if $(IMAGE),--image=$(IMAGE)) $(if $(TAG),--tag=$(TAG)) $(RELEASE_ARGS)

site: $(RELEASING) ## Build the documentation as web pages in build/site, where a dead link is an error: OWNER=
	$(RUN) -m deploy.site $(if $(OWNER),--owner=$(OWNER))

venv: $(INSTALLED) $(LINKS) ## Install Muster and its tools into .venv, and link the packages so that editors find them

control-plane: $(INSTALLED) ## Build the Kubernetes programs that the tests run, unless they are there
	@command -v kubectl >/dev/null || { echo "kubectl is not on the PATH: install it, the tests need it" >&2; exit 1; }
	@$(RUN) -m tests.controlplane.build

browser: ## Install the browser that shows the pages to the tests, unless it is there
	@$(call debian,chromium,chromium)

promtool: ## Install the tool of Prometheus that fires the chart's alerts in tests, unless it is there
	@$(call debian,promtool,prometheus)

# Installs a Debian package unless its program is there: $(1) is the program, $(2) the package.
define debian
command -v $(1) >/dev/null || { echo "installing $(2)"; apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || \
	{ echo "$(1) is not on the PATH and could not be installed: install it, the tests need it" >&2; exit 1; }
endef

INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Makes the virtual environment unless it is there.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
endef

$(RUNNABLE): constraints.txt pyproject.toml setup.py
	$(environment)
	@echo "Installing Muster and the packages that it needs into $(VENV), with pip: a minute or two, once ..."
	@$(INSTALL) -e .
	@touch $@

$(INSTALLED): constraints.txt pyproject.toml setup.py
	$(environment)
	$(INSTALL) -e '.[test,lint]'
	@touch $@ $(RUNNABLE)

$(RELEASING): $(INSTALLED)
	$(INSTALL) -e '.[release]'
	@touch $@

build/typing/muster/%:
	@mkdir -p $(@D)
	@ln -sfn ../../../$* $@
