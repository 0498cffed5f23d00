# Everything a developer runs; `make help` lists it. CI runs `make lint` and `make test`.

VENV   := .venv
PYTEST := $(VENV)/bin/python -m pytest
TIMED  := $(PYTEST) --durations=15 --durations-min=0.5
# What is marked as long is left to `make long`. Each group of tests leaves its closing lines, which are printed last.
GROUPS := $(VENV)/groups
SHORT   = $(PYTEST) -m 'not long' --left-out-log $(VENV)/left-out --closing-lines $(GROUPS)/$(@:test-%=%) \
	--failed-folder $(VENV)/failed/$(@:test-%=%)
# Of the unit tests that take most of the processors' time, a share with each commit.
UNITS   = $(SHORT) --one-costly-test-in 5
PIP    := $(VENV)/bin/python -m pip -qq --disable-pip-version-check

# Of the unit tests, one for each of two cores.
WORKERS := 2

# What runs on deployments of real processes; guests and placement alone have groups of their own.
DEPLOYMENTS := $(filter-out tests/integration/libvirt/% tests/integration/placement/%,\
	$(wildcard tests/integration/test_*.py tests/integration/*/test_*.py))

# How long `make check` begins tests for, beside those of what changed.
SECONDS_LEFT := 75

# Stamp files: the environment is made once, and brought up to date when what it depends on changes.
MADE   := $(VENV)/.made
TEST   := $(VENV)/.installed-test
LINT   := $(VENV)/.installed-lint

# The harness of the Placement API's public test-suite, which lies beside this repository. It gets an environment of its
# own, with the request files; without the harness its tests are left out.
CONFORMANCE ?= ../shared/conformance
HARNESS     := $(if $(wildcard $(CONFORMANCE)/harness.py),$(VENV)/conformance/.made)
REST        := armillary-placement-rest

CLIENTS     := $(VENV)/clients/.made $(VENV)/clients-6.6/.made

# Some of Tempest's tests are among ours, where its packages can be had.
TEMPEST     := $(VENV)/.tried-tempest

# The reference implementation of the Placement API, which ours is compared with, where it can be had.
REFERENCE   := $(VENV)/.tried-reference

# The tests of the console drive Chromium with Playwright; they are left out where there is no Chromium.
BROWSER     := $(if $(shell command -v chromium 2>/dev/null),$(VENV)/.installed-browser)

# libvirt's library is compiled, with headers that not every machine has; its tests are left out where it is missing.
LIBVIRT     := $(if $(shell pkg-config --exists libvirt 2>/dev/null && echo yes),$(VENV)/.installed-libvirt)

# Tests start hundreds of programs, each of which would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Running it

.PHONY: demo up
demo: $(TEST) ## Watch real and simulated workloads land on hosts, with embedded defaults
	$(VENV)/bin/armillary demo

up: $(TEST) ## Keep a whole control plane running in one process, until Ctrl-C
	$(VENV)/bin/armillary up

##### Testing it

.PHONY: test again check wheel deb unit functional integration console long costs guests libvirt conformance conformance-serve-cmd differential fuzz faults clients tempest mutants simulation zone-simulation bench bench-builds bench-placement bench-scheduling
test: $(TEST) $(LIBVIRT) $(BROWSER) $(HARNESS) $(TEMPEST) $(REFERENCE) ## Run all tests; the closing lines say what was left out for a missing service
	@rm -rf $(VENV)/left-out $(GROUPS)
	@$(VENV)/bin/python -m tests.fixtures.services.room
	@$(MAKE) --no-print-directory -j 9 --output-sync=line test-deployments test-placement test-console \
		test-faults test-functional test-units test-units-agent test-units-conductor \
		test-units-services; outcome=$$?; \
		cat $(GROUPS)/*.slowest $(GROUPS)/*.outcome; exit $$outcome

# Services of many processes mostly wait, unit tests compute: side by side they take little longer than the longest. What
# waits has deadlines, so it goes first, and few at a time; by a little only, or a busy machine would starve the unit tests.
.PHONY: test-deployments test-console test-faults test-functional test-placement
test-deployments: # two workers, each of which takes the next file
	$(SHORT) -n 2 --dist loadfile $(DEPLOYMENTS)

test-console:
	nice -n 1 $(SHORT) tests/console

test-faults:
	nice -n 1 $(SHORT) tests/faults tests/simulation

test-functional:
	nice -n 1 $(SHORT) tests/functional

test-placement: # and the API's public test-suites
	ARMILLARY_CONFORMANCE=$(CONFORMANCE) ARMILLARY_TEMPEST=$(VENV)/tempest nice -n 1 $(SHORT) \
		tests/integration/placement tests/conformance tests/tempest

# Four parts that each collect their own tests: workers of pytest-xdist would each collect all. Those of the agent and of
# the programs start processes and wait for them.
.PHONY: test-units test-units-agent test-units-conductor test-units-services
AGENT    := tests/unit/compute_agent tests/unit/programs
SERVICES := tests/unit/placement tests/unit/rpc tests/unit/scheduler tests/unit/simulator
test-units:
	nice -n 2 $(UNITS) $(addprefix --ignore ,$(AGENT) tests/unit/conductor $(SERVICES)) tests/unit

test-units-agent:
	nice -n 1 $(UNITS) $(AGENT)

test-units-conductor:
	nice -n 2 $(UNITS) tests/unit/conductor

test-units-services:
	nice -n 2 $(UNITS) $(SERVICES)

again: ## Run the few tests that failed in `make test` once more, alone: which are unstable?
	ARMILLARY_CONFORMANCE=$(CONFORMANCE) ARMILLARY_TEMPEST=$(VENV)/tempest \
		$(VENV)/bin/python -m tools.again $(GROUPS) -m 'not long'

check: format lint $(LIBVIRT) ## Before each commit, in 3 minutes: format, lint, the unit tests of what changed, others while there is time
	$(TIMED) -n $(WORKERS) --budget-seconds $(SECONDS_LEFT) tests/unit

wheel: $(TEST) ## Build the wheel, install it away from the tree, and run the demo from it
	tools/check_wheel.sh $(VENV)

deb: ## Build a Debian package, in dist, for the Debian release of this machine
	@mkdir -p dist
	tools/make_deb.sh dist

unit: $(TEST) $(LIBVIRT) ## Run the unit tests
	$(TIMED) -n $(WORKERS) tests/unit

functional: $(TEST) ## Run the whole system in one process
	$(TIMED) tests/functional

integration: $(TEST) $(LIBVIRT) ## Run real processes on RabbitMQ, PostgreSQL and MariaDB
	$(TIMED) tests/integration

console: $(TEST) $(BROWSER) ## Look at the web console with Chromium: what each view shows, and axe-core
	$(TIMED) tests/console

# Nothing is sampled here: all cases of what `make test` samples or runs a share of, and what is marked as long. The
# unit tests take the processors longest and begin at once, in two parts; of the others three groups run at a time,
# which mostly wait, and three files of the deployments, which have the most to do.
LONG = nice -n 1 $(PYTEST) -m long --run-minutes-max 60 --closing-lines $(GROUPS)/$@ --failed-folder $(VENV)/failed/$@
LONG_GROUPS := $(addprefix long-,units units-conductor deployments faults functional guests console placement)
long: export ARMILLARY_EVERY_EFFECT := 1
long: $(TEST) $(LIBVIRT) $(BROWSER) $(HARNESS) $(REFERENCE) $(VENV)/clients/.made ## Run all cases of what `make test` samples, and what it leaves out for its length: kills, layouts, guests
	@rm -rf $(GROUPS)
	@$(VENV)/bin/python -m tests.fixtures.services.room
	@$(MAKE) --no-print-directory -k -j 5 --output-sync=line $(LONG_GROUPS); outcome=$$?; \
		cat $(GROUPS)/*.slowest $(GROUPS)/*.outcome; exit $$outcome

.PHONY: $(LONG_GROUPS)
long-deployments:
	$(LONG) -n 3 --dist loadfile $(DEPLOYMENTS)

long-guests:
	$(LONG) tests/integration/libvirt

long-faults:
	$(LONG) tests/faults tests/simulation

long-placement:
	ARMILLARY_CONFORMANCE=$(CONFORMANCE) $(LONG) tests/integration/placement tests/conformance

long-functional:
	$(LONG) tests/functional

long-console:
	$(LONG) tests/console

long-units:
	$(LONG) --ignore tests/unit/conductor tests/unit

long-units-conductor:
	$(LONG) tests/unit/conductor

costs: $(TEST) $(LIBVIRT) ## Measure which unit tests are costly: `make test` runs a share of them with each commit
	$(PYTEST) --measure-costs --run-minutes-max 60 -m 'not long' tests/unit

guests: $(TEST) $(LIBVIRT) ## Run a few virtual machines under emulation: they boot, stop, move and are removed
	$(TIMED) -m 'not long' tests/integration/libvirt

libvirt: $(TEST) $(LIBVIRT) $(VENV)/clients/.made ## Run virtual machines, by libvirt's test driver and under emulation
	$(TIMED) --run-minutes-max 60 tests/unit/compute_agent/virt/libvirt tests/integration/libvirt

conformance: export ARMILLARY_EVERY_EFFECT := 1
conformance: $(TEST) $(HARNESS) $(REFERENCE) ## Run the Placement API's public test-suite against our REST API
	ARMILLARY_CONFORMANCE=$(CONFORMANCE) $(TIMED) tests/conformance

conformance-serve-cmd: ## Print the command that serves our REST API to the harness
	@if [ -x $(VENV)/bin/$(REST) ] || ! command -v $(REST) >/dev/null; then \
		$(MAKE) -s $(TEST) >&2; program=$(abspath $(VENV))/bin/$(REST); \
	else program=$$(command -v $(REST)); fi; \
	echo "exec $$program --host 127.0.0.1 --port {port} --state-dir {workdir} --config-file {conf}"

differential: export ARMILLARY_EVERY_EFFECT := 1
differential: SEED = $(shell date +%s)
differential: STORIES = 100
differential: $(TEST) $(REFERENCE) ## Compare our Placement API with OpenStack's in STORIES=100 random stories from SEED=NUMBER on
	ARMILLARY_DIFFERENTIAL_SEED=$(SEED) ARMILLARY_DIFFERENTIAL_STORIES=$(STORIES) \
		$(PYTEST) --run-minutes-max 240 tests/conformance/test_differential.py

FUZZERS = tests/conformance/test_fuzz.py $(shell find tests/unit -name 'test_fuzzed_*.py' | sort)

fuzz: SEED = $(shell date +%s)
fuzz: CASES = 2000
fuzz: $(TEST) ## Try CASES=2000 odd inputs a border, those of SEED=NUMBER: HTTP, messages, objects, specs, journals
	ARMILLARY_FUZZ_SEED=$(SEED) ARMILLARY_FUZZ_CASES=$(CASES) $(PYTEST) --run-minutes-max 240 $(FUZZERS)

SEED       ?= 1
PLANS      ?= 10
FAULTS     ?= 30
OPERATIONS ?= 300
PACE       ?= 1
faults: $(TEST) ## Play PLANS=10 plans of FAULTS=30 faults over OPERATIONS=300 operations, from SEED=1 on
	nice -n 5 $(VENV)/bin/python -W ignore -m tests.faults --verbose --seed $(SEED) --plans $(PLANS) \
		--faults $(FAULTS) --operations $(OPERATIONS) --pace $(PACE)

clients: $(TEST) $(CLIENTS) ## Run OpenStack's own clients against a running deployment
	ARMILLARY_CLIENTS=$(VENV) $(TIMED) -m long tests/clients

REGEX    ?= ^tempest\.api\.compute
AT_LEAST ?= 0
tempest: $(TEST) $(VENV)/tempest/.made ## Run OpenStack's tests of the Compute API (Tempest): passed, failed, causes; REGEX=PART
	@nice -n 5 $(VENV)/bin/python -W ignore -m tests.tempest --venv $(VENV)/tempest --regex '$(REGEX)' \
		--at-least $(AT_LEAST) $(if $(KEEP),--keep $(KEEP))

mutants: $(TEST) ## Put deliberate faults into copies of the code, one at a time: the tests have to notice; ONLY=NAME
	@nice -n 10 $(VENV)/bin/python -m tools.mutants $(if $(ONLY),--only $(ONLY))

SEEDS ?= 200
REPEAT_SEEDS ?= 100
ZONE_SEEDS ?= 10
FIRST ?= 1
simulation: $(TEST) ## Run SEEDS=200 simulated deployments, REPEAT_SEEDS=100 with every message repeated, ZONE_SEEDS=10 trees of zones
	nice -n 10 $(VENV)/bin/python -W ignore -m tests.simulation --first $(FIRST) --seeds $(SEEDS) --jobs 2
	nice -n 10 $(VENV)/bin/python -W ignore -m tests.simulation --first $(FIRST) --seeds $(REPEAT_SEEDS) --jobs 2 --repeats
	nice -n 10 $(VENV)/bin/python -W ignore -m tests.simulation.zone_story --first $(FIRST) --seeds $(ZONE_SEEDS)

zone-simulation: $(TEST) ## Run ZONE_SEEDS=1000 trees of zones from seed FIRST=1 on, each with cuts and kills of its own
	nice -n 10 $(VENV)/bin/python -W ignore -m tests.simulation.zone_story --first $(FIRST) --seeds $(ZONE_SEEDS)
zone-simulation: ZONE_SEEDS = 1000

bench: $(TEST) ## Measure each stage on fleets of hosts
	$(VENV)/bin/python -m tests.bench

bench-scheduling: $(TEST) ## Measure the scheduler; PEERS=DIR and WORK=DIR as for bench-placement
	$(VENV)/bin/python -W ignore -m tests.bench scheduling $(if $(PEERS),--peers $(PEERS)) $(if $(WORK),--work $(WORK))

bench-builds: $(TEST) ## Measure instances a second from accepted to ACTIVE, all services as processes
	$(VENV)/bin/python -W ignore -m tests.bench builds

bench-placement: $(TEST) ## Measure placement; PEERS=DIR has the reference's scripts, WORK=DIR its environment
	$(VENV)/bin/python -W ignore -m tests.bench placement $(if $(PEERS),--peers $(PEERS)) $(if $(WORK),--work $(WORK))

##### Writing it

.PHONY: format lint samples screenshots vendor-console constraints-hashes docs stats clean
format: $(LINT) ## Format the code
	$(VENV)/bin/ruff format

lint: $(LINT) ## Check style, format, types, imports and that what is generated is up to date
	@$(MAKE) --no-print-directory -k -j 2 --output-sync=target lint-types lint-style lint-imports lint-samples

# The types take longest by far: they go first, the others beside them.
.PHONY: lint-types lint-style lint-imports lint-samples
lint-types:
	$(VENV)/bin/mypy

lint-style:
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/python tools/phrases.py

lint-imports:
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/python tools/check_circles.py

lint-samples:
	$(VENV)/bin/python tools/samples.py --check
	$(VENV)/bin/python -m tools.plugin_reference --check
	$(VENV)/bin/python -W ignore -m tools.rpc_reference --check

samples: $(TEST) ## Write the sample configuration and policy files in etc/, the references of plugins and of RPC
	$(VENV)/bin/python tools/samples.py
	$(VENV)/bin/python -m tools.plugin_reference
	$(VENV)/bin/python -W ignore -m tools.rpc_reference

SCREENSHOTS ?= $(VENV)/screenshots
screenshots: $(TEST) $(BROWSER) ## Take pictures of each view of the console over 1,000 hosts with load, in SCREENSHOTS=DIR; some are in docs/images
	nice -n 5 $(VENV)/bin/python -W ignore -m tests.console.screenshots $(SCREENSHOTS)

vendor-console: ## Fetch the console's libraries again after a change of tools/console_libraries; needs npm
	python3 tools/vendor_console.py

constraints-hashes: $(TEST) ## Write constraints-hashes.txt again after a change of constraints.txt; asks the package index
	$(VENV)/bin/python tools/constraint_hashes.py

docs: $(LINT) ## Check the links in the documentation, show the news of the next release
	$(VENV)/bin/python tools/check_links.py
	$(VENV)/bin/towncrier build --draft

stats: $(TEST) ## Print how long files and functions are
	$(VENV)/bin/python tools/stats.py

clean: ## Remove the virtual environment and what the tools left behind
	rm -rf $(VENV) build *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

##### Installing it

$(MADE):
	@tools/make_venv.sh $(VENV) $(PYTHON)
	@touch $@

$(TEST): $(MADE) setup.cfg pyproject.toml constraints.txt
	@echo "Installing Armillary and its libraries in $(VENV) ..."
	@$(PIP) install -c constraints.txt -e '.[test]'
	@touch $@

$(LINT): $(TEST)
	@echo "Installing the tools in $(VENV) ..."
	@$(PIP) install -c constraints.txt -e '.[test,lint]'
	@touch $@

$(VENV)/.installed-libvirt: $(TEST)
	@echo "Installing libvirt-python in $(VENV) ..."
	@if $(PIP) install -c constraints.txt libvirt-python; then touch $@; else \
		echo "libvirt-python cannot be built here: tests that need it are left out."; fi

$(VENV)/.installed-browser: $(TEST)
	@echo "Installing Playwright in $(VENV) ..."
	@if $(PIP) install -c constraints.txt playwright axe-playwright-python; then touch $@; else \
		echo "Playwright cannot be installed here: the tests of the console are left out."; fi

# Environments of their own: these programs need other versions of our libraries.
$(VENV)/clients/.made: OPENSTACK := python-openstackclient==10.5.0 osc-placement==4.9.1
$(VENV)/clients-6.6/.made: OPENSTACK := python-openstackclient==6.6.0 python-novaclient==18.13.0
$(VENV)/clients/.made $(VENV)/clients-6.6/.made: $(MADE)
	@echo "Installing OpenStack's clients in $(@D) ..."
	@tools/make_venv.sh $(@D) $(PYTHON)
	@if $(@D)/bin/python -m pip -qq --disable-pip-version-check install $(OPENSTACK); then touch $@; else \
		echo "The clients cannot be installed here."; exit 1; fi

$(VENV)/tempest/.made: $(MADE)
	@echo "Installing Tempest in $(VENV)/tempest ..."
	@tools/make_venv.sh $(VENV)/tempest $(PYTHON)
	@$(VENV)/tempest/bin/python -m pip -qq --disable-pip-version-check install tempest==47.0.0
	@touch $@

$(VENV)/.tried-tempest: $(MADE)
	@PIP_RETRIES=1 $(MAKE) --no-print-directory $(VENV)/tempest/.made || \
		echo "Tempest cannot be installed here: its tests are left out."
	@touch $@

$(VENV)/reference/.made: $(MADE)
	@echo "Installing OpenStack Placement in $(VENV)/reference ..."
	@tools/make_venv.sh $(VENV)/reference $(PYTHON)
	@$(VENV)/reference/bin/python -m pip -qq --disable-pip-version-check install openstack-placement==16.0.0
	@touch $@

$(VENV)/.tried-reference: $(MADE)
	@PIP_RETRIES=1 $(MAKE) --no-print-directory $(VENV)/reference/.made || \
		echo "OpenStack Placement cannot be installed here: the comparison with it is left out."
	@touch $@

$(VENV)/conformance/.made: $(MADE) $(wildcard $(CONFORMANCE)/requirements.txt)
	@echo "Installing the conformance harness in $(VENV)/conformance ..."
	@tools/make_venv.sh $(VENV)/conformance $(PYTHON)
	@$(VENV)/conformance/bin/python -m pip -qq --disable-pip-version-check install -r $(CONFORMANCE)/requirements.txt
	@$(VENV)/conformance/bin/python $(CONFORMANCE)/harness.py fetch-gabbits $(VENV)/conformance/gabbits >/dev/null
	@touch $@
