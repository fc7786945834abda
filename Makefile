# make run     build, stand a cluster of four up on this machine, run a stock MPI on it, tear it down
# make test    all quick tests; needs root for the lab
# make help    the rest

CARGO ?= $(shell command -v cargo 2>/dev/null || echo $(HOME)/.cargo/bin/cargo)
PEERS ?= $(CURDIR)/target/peers
TASUKI := target/ship/tasuki
# Namespaces need root; building does not, and what a user builds must stay the user's. So only the programs
# themselves run as root: cargo starts tests through the runner of the machine's target.
ROOT := $(if $(filter 0,$(shell id -u)),,sudo -E env "PATH=$$PATH")
ARCH := $(shell uname -m | tr a-z A-Z)
# Tests at a time. Many wait for a lab, a program or a time-out: two more than processors keep these busy.
export RUST_TEST_THREADS ?= $(shell echo $$(($$(nproc) + 2)))
# A test program that hangs fails: no other one should wait for it. $(call RUNNER,seconds)
RUNNER = CARGO_TARGET_$(ARCH)_UNKNOWN_LINUX_GNU_RUNNER="$(LIMITED) $(1) $(if $(ROOT),sudo -E env PATH=$$PATH)"
LIMITED := timeout --foreground --kill-after=10

.PHONY: help run test test-full test-busy soak bench measure measure-all check-tuning profile lint setup \
	build provider test-build peers oracles install uninstall deb test-deb wheel test-wheel test-guests clean

help:
	@echo "make run        four cabled hosts on this machine: latency, bandwidth, a program, over TCP and Tasuki"
	@echo "make test       all quick tests"
	@echo "make test-full  the long ones too"
	@echo "make test-busy  all quick tests beside processes that spin, SPINNERS=8, so many times: RUNS=1"
	@echo "make soak       the fault simulation of the transport on all cores, N=100000 seeds (FIRST=0)"
	@echo "make bench      measure every MPI installed over TCP and over Tasuki, with raw ceilings (results/);"
	@echo "                ARGS=--force writes over an earlier measurement's files"
	@echo "make measure    what a constant of tuning gains: C=coalesce.FIRST (V=VALUE ARGS=\"...\");"
	@echo "                tasuki info lists them"
	@echo "make measure-all   the gains of all constants that a benchmark measures; ARGS=--missing: of those"
	@echo "                whose gain the table does not say; hours, and goes on where it was stopped"
	@echo "make check-tuning  whether the tests that tasuki info names fail with other values of its constants"
	@echo "make profile    where the nanoseconds and instructions of a message go (docs/results/messages.md)"
	@echo "make install    into PREFIX (/usr/local), below DESTDIR; make uninstall takes it away again"
	@echo "make deb        a Debian package: target/tasuki_*.deb"
	@echo "make wheel      a Python wheel: target/tasuki-*.whl; pip install of it needs no root and no compiler"
	@echo "make test-wheel tries it in fresh virtual environments with the MPIs that pip fetches"
	@echo "make test-deb   installs, runs and purges that package in a Debian 12 made for it"
	@echo "make test-guests  two virtual machines with stock kernels and emulated NICs run an MPI with it"
	@echo "make lint       rustfmt and clippy, warnings are errors"
	@echo "make setup      install missing Debian packages, check the Rust toolchain"

setup:
	@scripts/setup

# What is run, measured, installed and packaged lies in target/ship. No test build writes there: tests are
# built with planted defects and points at which commands are killed, and lie in target/release.
build: setup provider
	$(CARGO) build --profile ship --locked
	$(call BESIDE,target/ship)

# The provider, with all its crates as one: that makes a message a tenth faster.
provider: setup
	$(CARGO) build --profile provider --locked -p tasuki-ofi

# Puts the provider beside the `tasuki` of a folder. libfabric loads files that end in -fi.so, and cargo names
# none so. Beside it the libfabric that stands before a distribution's, NCCL's plug-in with its two names,
# PyTorch's backend, and the library for OpenMP.
define BESIDE
	@mkdir -p $(1)/tasuki-provider
	@ln -sfn ../../provider/libtasuki_fi.so $(1)/tasuki-provider/libtasuki-fi.so
	@crates/tasuki-ofi/front/build $(1)/tasuki-provider/libfabric
	@mkdir -p $(1)/tasuki-provider/nccl
	@ln -sfn ../../libnccl_net_tasuki.so $(1)/tasuki-provider/nccl/libnccl-net-tasuki.so
	@ln -sfn libnccl-net-tasuki.so $(1)/tasuki-provider/nccl/librccl-net-tasuki.so
	@mkdir -p $(1)/tasuki-provider/torch
	@ln -sfn ../../libtasuki_torch.so $(1)/tasuki-provider/torch/libtasuki-torch.so
	@cp crates/tasuki-torch/python/tasuki_torch.py $(1)/tasuki-provider/torch/
	@mkdir -p $(1)/tasuki-provider/omp
	@ln -sfn ../../libtasuki_omp.so $(1)/tasuki-provider/omp/libtasuki-omp.so
endef

# What tests need beside their own programs. They find a provider beside `tasuki` by either of its names.
test-build: setup provider
	$(call BESIDE,target/release)
	@ln -sfn ../provider/libtasuki_fi.so target/release/libtasuki_fi.so
	@# Beside the tests is where cargo leaves a library of which only tests need it.
	@ln -sfn ../../deps/libnccl_net_tasuki.so target/release/tasuki-provider/nccl/libnccl-net-tasuki.so
	@ln -sfn ../../deps/libtasuki_omp.so target/release/tasuki-provider/omp/libtasuki-omp.so
	@ln -sfn ../../deps/libtasuki_torch.so target/release/tasuki-provider/torch/libtasuki-torch.so

peers:
	@scripts/setup --tests
	@scripts/peers "$(PEERS)"
	@scripts/mpi4py-suite "$(PEERS)"

# Programs that tests need beside Tasuki; unpacked, not installed.
oracles: setup
	@scripts/oracles "$(PEERS)"

run: build
	@$(ROOT) $(TASUKI) demo

test: test-build peers oracles
	$(call RUNNER,$(or $(LIMIT),2400)) TASUKI_PEERS="$(PEERS)" \
		$(CARGO) test --release --locked --workspace --no-fail-fast

# Spinning processes take processors away from all quick tests: one that depends on time fails. As many tests
# run at a time, or the spinning processes would have nearly all of the processors for hours.
test-busy: test-build peers oracles
	@TASUKI_PEERS="$(PEERS)" CARGO="$(CARGO)" scripts/test-busy --runs $(or $(RUNS),1) \
		--spinners $(or $(SPINNERS),8) $(ARGS)

test-full: test-build peers
	@scripts/oracles --full "$(PEERS)"
	@scripts/setup --browser
	$(call RUNNER,28800) TASUKI_PEERS="$(PEERS)" \
		$(CARGO) test --release --locked --workspace --no-fail-fast -- --include-ignored

soak: setup
	$(CARGO) run --release --locked -p tasuki-sim --bin soak -- --reach \
		--seeds $(or $(N),100000) --first $(or $(FIRST),0)

# What root has written is the user's.
bench: build peers
	code=0; $(ROOT) env TASUKI_PEERS="$(PEERS)" $(TASUKI) bench mpi --transport tcp,tasuki \
		--shape full:4 --shape star:4 --output results $(ARGS) || code=$$?; \
	$(if $(ROOT),[ ! -e results ] || sudo chown -R "$$(id -u):$$(id -g)" results;) exit $$code

# Builds a provider with another value of one constant and compares both in paired repetitions.
measure: build peers
	@TASUKI_PEERS="$(PEERS)" CARGO="$(CARGO)" scripts/measure "$(C)" "$(V)" $(ARGS)

measure-all: build peers
	@TASUKI_PEERS="$(PEERS)" CARGO="$(CARGO)" scripts/measure-all $(ARGS)

# Builds each test that the table of tuning names with the other value that it names: it must fail.
check-tuning:
	@TASUKI_PEERS="$(PEERS)" CARGO="$(CARGO)" scripts/check-tuning $(ARGS)

profile: build
	$(CARGO) build --profile provider --locked -p tasuki-engine --example message_cost
	@$(ROOT) scripts/profile

# With the profile of the tests, so that both share build scripts and macros of libraries.
lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings

# Building needs no root, installing usually does: `make build && sudo make install`.
install:
	@scripts/install install

uninstall:
	@scripts/install uninstall

deb: build
	@scripts/setup --package
	@scripts/deb

test-deb: deb
	@scripts/setup --deb
	$(ROOT) scripts/test-deb "$$(ls -t target/tasuki_*.deb | head -n 1)"

wheel: build
	@scripts/wheel

test-wheel: wheel
	@scripts/test-wheel "$$(ls -t target/tasuki-*.whl | head -n 1)"

test-guests: deb
	@scripts/setup --guests
	$(ROOT) scripts/guest-image target/guests
	$(call RUNNER,7200) TASUKI_NO_SKIP=1 TASUKI_GUESTS="$(CURDIR)/target/guests" \
		TASUKI_DEB="$$(ls -t $(CURDIR)/target/tasuki_*.deb | head -n 1)" \
		$(CARGO) test --release --locked -p tasuki-cli --test guests -- --include-ignored --nocapture

clean:
	$(CARGO) clean
