# The commands that people and CI run. Each sets up what it needs; a second run is quick.

SEED ?=
COUNT ?=
# A build of scripts/lib.sh, so that everything that is built for tests is built once.
build = bash -c 'set -e; . scripts/lib.sh; "$$0"'
target = $(or $(CARGO_TARGET_DIR),target)

.PHONY: run release test test-fast test-long test-vm chaos fleet lint fmt build images bench panels fuzz fuzz-bash fuzz-read-only corpus setup-run setup-test setup-lint help
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

run: setup-run ## build, then show an agent's short day through gRPC, in the sandbox
	@echo 'airlock: building; some minutes the first time' >&2
	@cargo build --quiet --locked --package airlock-cli --bin airlock
	@scripts/demo.sh

build: ## build every program
	@cargo build --locked --workspace --bins

release: setup-run ## build the programs of a release, their debug information in files beside them: target/dist/programs
	@scripts/release.sh

test: setup-test ## run every test; the last line counts them
	@scripts/test.sh

test-fast: setup-test ## the main job once, and the unit tests of what is changed and of what depends on it; minutes
	@scripts/test-fast.sh

test-long: setup-test ## what `make test` leaves out, and its samples in full (tests/map/long.md); an hour; SEED=
	@$(build) build_tests
	@AIRLOCK_TEST_LONG=1 $(if $(SEED),AIRLOCK_TEST_SEED=$(SEED)) cargo nextest run --profile long --locked --workspace --no-fail-fast

test-vm: setup-test ## only the checks in a virtual machine: systemd, cgroups, AppArmor; some minutes
	@$(build) release_programs
	@scripts/vm.sh

chaos: setup-test ## kill, cut, stop and fill at random for SECONDS=3600; SEED= ROW= INDEX= makes one injection again
	@$(build) build_programs
	@$(target)/debug/chaos --seconds $(or $(SECONDS),3600) $(if $(SEED),--seed $(SEED)) $(if $(ROW),--row $(ROW)) $(if $(INDEX),--index $(INDEX))

fleet: setup-test ## a fleet on hosts of its own under fire: COUNT=2000 executions, SEED=; servers that come and go: ROUNDS=20
	@$(build) build_tests
	@AIRLOCK_FLEET_COUNT=$(or $(COUNT),2000) AIRLOCK_FLEET_ROUNDS=$(or $(ROUNDS),20) $(if $(SEED),AIRLOCK_FLEET_SEED=$(SEED)) cargo nextest run --profile fleet --success-output immediate --locked --workspace --test it -E 'package(airlock-tests) & test(/^fleet::/)'

lint: setup-lint ## fmt, clippy, rustdoc, buf, cargo-deny
	@scripts/lint.sh

images: ## build the images of server, runner and client with podman, with what is in them; from source
	@scripts/setup.sh images
	@scripts/images.sh

bench: setup-run ## measure, as ratios side by side in one run
	@cargo build --quiet --locked --release --workspace --bins
	@cargo bench --quiet --locked --workspace --bench run --bench layers --bench latency --bench files --bench decide --bench placement

panels: ## draw the dashboards' panels from a real load, into docs/panels; SECONDS=240
	@scripts/setup.sh panels
	@SECONDS_OF_WORK=$(or $(SECONDS),240) scripts/panels.sh

fuzz: ## fuzz parse and decide, the grammar's C under AddressSanitizer; SECONDS=600
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(SECONDS),600)

fuzz-bash: setup-test ## run generated commands with real bash, and compare with what was predicted; SEED=, COUNT=
	@cargo run --quiet --locked --release --package airlock-fuzz --bin fuzz-bash -- --count $(or $(COUNT),300000) $(if $(SEED),--seed $(SEED))

fuzz-read-only: setup-test ## run what is called read-only with real programs, on files that must not change, some planted; SEED=, COUNT=
	@cargo run --quiet --locked --package airlock-fuzz --bin fuzz-read-only -- --count $(or $(COUNT),20000) $(if $(SEED),--seed $(SEED))

corpus: setup-test ## measure policy and sandbox on a folder of labelled commands: make corpus CORPUS=DIR
	@[ -n '$(CORPUS)' ] || { echo 'make corpus: name a folder of labelled commands, as in: make corpus CORPUS=DIR' >&2; exit 2; }
	@cargo run --quiet --locked --package airlock-policy --example corpus -- '$(CORPUS)'
	@cargo run --quiet --locked --package airlock-fuzz --bin corpus-forced -- '$(CORPUS)'

fmt: ## format the code
	@cargo fmt --all

setup-run:
	@scripts/setup.sh run

setup-test:
	@scripts/setup.sh test

setup-lint:
	@scripts/setup.sh lint
