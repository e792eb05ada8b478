# The commands that people and CI run. Each target installs its dependencies first.

SEED ?=
COUNT ?=
# Runs a build function of scripts/lib.sh, so that all targets share the build for tests.
build = bash -c 'set -e; . scripts/lib.sh; "$$0"'
target = $(or $(CARGO_TARGET_DIR),target)

.PHONY: run release test test-fast test-long test-vm chaos fleet lint fmt build images bench panels fuzz fuzz-bash fuzz-read-only corpus powershell setup-run setup-test setup-long setup-lint help
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

run: setup-run ## build, then run the demo: a short working day of an agent, through gRPC, in the sandbox
	@echo 'airlock: building; some minutes the first time' >&2
	@cargo build --quiet --locked --package airlock-cli --bin airlock
	@scripts/demo.sh

build: ## build every program
	@cargo build --locked --workspace --bins

release: setup-run ## build the release programs, with separate debug information, into target/dist/programs
	@scripts/release.sh

test: setup-test ## run every test; the last line prints the counts
	@scripts/test.sh

test-fast: setup-test ## run the main job once, and the unit tests of changed crates and their dependents; takes minutes
	@scripts/test-fast.sh

test-long: setup-test setup-long ## run the tests that `make test` excludes, and its samples in full (tests/map/long.md); takes half an hour; SEED=
	@$(if $(SEED),AIRLOCK_TEST_SEED=$(SEED)) scripts/test-long.sh

test-vm: setup-test ## run only the checks in a virtual machine: systemd, cgroups, AppArmor; takes minutes
	@$(build) release_programs
	@scripts/vm.sh

chaos: setup-test ## inject random faults for SECONDS=3600: kill, disconnect, stop, fill the disk; SEED= ROW= INDEX= repeats one injection
	@$(build) build_programs
	@$(target)/debug/chaos --seconds $(or $(SECONDS),3600) $(if $(SEED),--seed $(SEED)) $(if $(ROW),--row $(ROW)) $(if $(INDEX),--index $(INDEX))

fleet: setup-test ## test a fleet on separate hosts under faults: COUNT=2000 executions, SEED=; restarting servers: ROUNDS=20
	@$(build) build_tests
	@AIRLOCK_FLEET_COUNT=$(or $(COUNT),2000) AIRLOCK_FLEET_ROUNDS=$(or $(ROUNDS),20) $(if $(SEED),AIRLOCK_FLEET_SEED=$(SEED)) cargo nextest run --profile fleet --success-output immediate --locked --workspace --test it -E 'package(airlock-tests) & test(/^fleet::/)'

lint: setup-lint ## run fmt, clippy, rustdoc, buf, cargo-deny and the check for retired terms
	@scripts/lint.sh

images: ## build the images of server, runner and client from source with podman, with their bills of materials
	@scripts/setup.sh images
	@scripts/images.sh

bench: setup-run ## measure performance, as ratios between alternatives in one run
	@cargo build --quiet --locked --release --workspace --bins
	@cargo bench --quiet --locked --workspace --bench run --bench layers --bench latency --bench files --bench decide --bench placement --bench egress

panels: ## draw the dashboards' panels under a real load, into docs/panels; SECONDS=240
	@scripts/setup.sh panels
	@SECONDS_OF_WORK=$(or $(SECONDS),240) scripts/panels.sh

fuzz: ## fuzz the parser, decisions and the runner's proxy, with C code under AddressSanitizer; SECONDS=600, for all or for each of TARGETS=
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(SECONDS),600) $(TARGETS)

fuzz-bash: setup-test ## run generated commands with real bash, and compare the programs started with the prediction; SEED=, COUNT=
	@cargo run --quiet --locked --release --package airlock-fuzz --bin fuzz-bash -- --count $(or $(COUNT),300000) $(if $(SEED),--seed $(SEED))

fuzz-read-only: setup-test ## run read-only commands with real programs, and check that no file changes; SEED=, COUNT=
	@cargo run --quiet --locked --package airlock-fuzz --bin fuzz-read-only -- --count $(or $(COUNT),20000) $(if $(SEED),--seed $(SEED))

corpus: setup-test ## measure policy and sandbox on a directory of labelled commands: make corpus CORPUS=DIR
	@[ -n '$(CORPUS)' ] || { echo 'make corpus: name a directory of labelled commands, as in: make corpus CORPUS=DIR' >&2; exit 2; }
	@cargo run --quiet --locked --package airlock-policy --example corpus -- '$(CORPUS)'
	@cargo run --quiet --locked --package airlock-fuzz --bin corpus-forced -- '$(CORPUS)'

powershell: setup-test ## compare parser and policy with facts about PowerShell: make powershell FACTS=DIR
	@[ -n '$(FACTS)' ] || { echo 'make powershell: name a directory of facts, as in: make powershell FACTS=DIR' >&2; exit 2; }
	@cargo run --quiet --locked --package airlock-powershell --example facts -- '$(FACTS)'
	@cargo run --quiet --locked --package airlock-policy --example powershell -- '$(FACTS)'

fmt: ## format the code
	@cargo fmt --all

setup-run:
	@scripts/setup.sh run

setup-test:
	@scripts/setup.sh test

setup-long:
	@scripts/setup.sh long

setup-lint:
	@scripts/setup.sh lint
