# make run     build, stand a cluster of four up on this machine, run a stock MPI on it, tear it down
# make test    all quick tests (ten minutes on two cores); needs root for the lab
# make help    the rest

CARGO ?= $(shell command -v cargo 2>/dev/null || echo $(HOME)/.cargo/bin/cargo)
PEERS ?= $(CURDIR)/target/peers
TASUKI := target/release/tasuki
# Namespaces need root; building does not, and what a user builds must stay the user's. So only the programs
# themselves run as root: cargo starts tests through the runner of the machine's target.
ROOT := $(if $(filter 0,$(shell id -u)),,sudo -E env "PATH=$$PATH")
ARCH := $(shell uname -m | tr a-z A-Z)
AS_ROOT := $(if $(ROOT),CARGO_TARGET_$(ARCH)_UNKNOWN_LINUX_GNU_RUNNER="sudo -E env PATH=$$PATH")

.PHONY: help run test test-full soak bench lint setup build peers oracles clean

help:
	@echo "make run        four cabled hosts on this machine: latency, bandwidth, a real program, over TCP and Tasuki"
	@echo "make test       all quick tests"
	@echo "make test-full  the long ones too"
	@echo "make soak       the fault simulation of the transport on all cores, N=100000 seeds (FIRST=0)"
	@echo "make bench      measure every MPI installed over TCP and over Tasuki, with raw ceilings (results/)"
	@echo "make lint       rustfmt and clippy, warnings are errors"
	@echo "make setup      install missing Debian packages, check the Rust toolchain"

setup:
	@scripts/setup

# libfabric loads files that end in -fi.so, cargo names none so.
build: setup
	$(CARGO) build --release --locked
	@mkdir -p target/release/tasuki-provider
	@ln -sfn ../libtasuki_fi.so target/release/tasuki-provider/libtasuki-fi.so

peers: setup
	@scripts/peers "$(PEERS)"
	@scripts/mpi4py-suite "$(PEERS)"

# Programs that topologies are checked against; unpacked, not installed.
oracles: setup
	@scripts/oracles "$(PEERS)"

run: build
	@$(ROOT) $(TASUKI) demo

test: build peers oracles
	$(AS_ROOT) TASUKI_PEERS="$(PEERS)" $(CARGO) test --release --locked --workspace --no-fail-fast

test-full: build peers
	@scripts/oracles --full "$(PEERS)"
	$(AS_ROOT) TASUKI_PEERS="$(PEERS)" $(CARGO) test --release --locked --workspace --no-fail-fast -- --include-ignored

soak: setup
	$(CARGO) run --release --locked -p tasuki-sim --bin soak -- --seeds $(or $(N),100000) --first $(or $(FIRST),0) --reach

bench: build peers
	$(ROOT) env TASUKI_PEERS="$(PEERS)" $(TASUKI) bench mpi --transport tcp,tasuki --shape full:4 --shape star:4 --output results

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

clean:
	$(CARGO) clean
