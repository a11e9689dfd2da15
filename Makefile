# Two commands for a fresh machine with Rust, Go, a C linker and make: `make demo` and `make test`.

# Another Kubernetes for demo and test than the one that tests/go/kubernetes/go.mod pins, e.g. 1.34.4.
KUBERNETES_VERSION ?=
export KUBERNETES_VERSION

CREATOR := ipf-dynamic-nodeport-service-creator
WATCHER := ipf-dynamic-nodeport-service-watcher
CONTROL_PLANE := etcd kube-apiserver kube-controller-manager
# What only tests need: of the chart and the kustomizations, and on nodes, which are Linux.
TEST_PROGRAMS := kubectl helm
NODE_PROGRAMS := kube-scheduler kube-proxy kubelet containerd containerd-shim-runc-v2 ctr bridge loopback host-local \
	multus coredns
ifeq ($(shell uname -s),Linux)
TEST_PROGRAMS += $(NODE_PROGRAMS)
endif

# $(call timed,WHAT,COMMAND): runs it and says how long it took.
timed = @begin=$$(date +%s); echo "== $(1)"; $(2) && echo "== $(1): $$(( $$(date +%s) - begin )) s"

# Tests on a control plane wait more than they compute: at least four at a time.
RUST_TEST_THREADS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores > 4 ? cores : 4)))
CLUSTER_TESTS = RUST_TEST_THREADS=$(RUST_TEST_THREADS) cargo test --package cluster-tests

.PHONY: help
help:
	@echo 'make demo    a local control plane, a pod, the creator for it, the Service and the file, the pod gone, the watcher for it'
	@echo 'make test    all tests, on a real control plane too; KUBERNETES_VERSION=1.34.4 tests on another version'
	@echo 'make e2e     the part of these tests that runs on two real nodes: Linux, root, runc, nftables, conntrack, an image builder'
	@echo 'make build   the programs, optimized and static'
	@echo 'make images  their images, with docker, podman or buildah (ENGINE, REGISTRY, VERSION)'
	@echo 'make bench   what the programs cost, the creator beside a script and a floor, the watcher beside the garbage collector'
	@echo '             (about 20 minutes; bench-creator, bench-watcher and bench-net-service do a part, BENCH_SCALE=1000 BENCH_OTHERS=5000 do less)'
	@echo 'make docs    the generated parts of the documentation, the chart and the kustomization, and crds/'
	@echo 'make clean   removes what Cargo built; the Kubernetes programs stay in the cache'

# Each says what is missing and how to get it.
.PHONY: tools
tools:
	@command -v cargo >/dev/null || { echo "Rust's cargo is missing: install it from https://rustup.rs" >&2; exit 3; }
	@command -v cc >/dev/null || { echo "A C linker (cc), which Rust links with, is missing: install gcc, e.g. 'apt-get install gcc libc6-dev'" >&2; exit 3; }

.PHONY: build
build: tools
	$(call timed,Build,cargo build --release)

# FROM scratch, of programs built here; elsewhere than on Linux the Containerfile compiles them in a container.
.PHONY: images
ifeq ($(shell uname -s),Linux)
images: build
	$(call timed,Images,images/build.sh --programs "$$(dirname "$$(ls -t $${CARGO_TARGET_DIR:-target}/*/release/$(CREATOR) | head -n 1)")")
else
images: tools
	images/build.sh
endif

# Go and Cargo have nothing in common: they build side by side.
.PHONY: demo
demo: tools
	@tests/go/build.sh --check $(CONTROL_PLANE)
	@$(MAKE) --no-print-directory -j2 control-plane-programs demo-programs
	@cargo run --quiet --package cluster-tests --bin demo

.PHONY: control-plane-programs
control-plane-programs:
	@tests/go/build.sh --plain $(CONTROL_PLANE) >/dev/null

.PHONY: test-programs
test-programs:
	@tests/go/build.sh --plain $(CONTROL_PLANE) $(TEST_PROGRAMS) >/dev/null

.PHONY: demo-programs
demo-programs:
	@cargo build --package cluster-tests --package $(CREATOR) --package $(WATCHER) --bins

# The fast tests run as soon as they are built, while Go may still build for minutes.
.PHONY: test
test: tools
	@tests/go/build.sh --check $(CONTROL_PLANE) $(TEST_PROGRAMS)
	@$(MAKE) --no-print-directory -j2 test-programs fast-tests
	$(call timed,Tests on a real control plane,$(CLUSTER_TESTS))

# Afterwards all that the next tests need is built too: the programs as they ship, and the tests themselves, which are
# not optimized: that would take longer than it saves.
.PHONY: fast-tests
fast-tests:
	$(call timed,Tests without a cluster,cargo test)
	$(call timed,Build of the programs as they ship,cargo build --release)
	$(call timed,Build of the tests on a control plane,cargo test --no-run --package cluster-tests)

# Who asks for these wants no skipping.
.PHONY: e2e
e2e: tools
	@tests/go/build.sh --check $(CONTROL_PLANE) $(TEST_PROGRAMS)
	@$(MAKE) --no-print-directory -j2 test-programs build
	$(call timed,Tests on nodes,CI=true $(CLUSTER_TESTS) --test nodes --test net_service_nodes --test isolation)

# Numbers of pods that the watcher is measured with, and of pods of others in the end, to be done sooner: 1000,3000 and 5000.
BENCH_SCALE ?=
BENCH_OTHERS ?=
BENCH = cargo run --release --package cluster-tests --bin bench -- \
	$(if $(BENCH_SCALE),--scale $(BENCH_SCALE)) $(if $(BENCH_OTHERS),--others $(BENCH_OTHERS))

.PHONY: bench bench-creator bench-watcher bench-net-service
bench: tools
	@tests/go/build.sh --check $(CONTROL_PLANE) kubectl
	$(BENCH)

bench-creator: tools
	@tests/go/build.sh --check $(CONTROL_PLANE) kubectl
	$(BENCH) creator

bench-watcher: tools
	@tests/go/build.sh --check $(CONTROL_PLANE)
	$(BENCH) latency scale

bench-net-service: tools
	@tests/go/build.sh --check $(CONTROL_PLANE)
	$(BENCH) net-service

.PHONY: docs
docs: tools
	UPDATE_DOCS=1 cargo test --package $(CREATOR) --test configuration its_tables
	UPDATE_DOCS=1 cargo test --package $(WATCHER) --test configuration its_tables
	UPDATE_DOCS=1 cargo test --package cluster-tests --test docs the_map_of_modules
	UPDATE_DOCS=1 cargo test --package cluster-tests --test net_service_schema the_definitions
	UPDATE_DOCS=1 cargo test --package cluster-tests --test manifests -- \
		the_readme_lists the_alerts_and_policies what_the_base_has

.PHONY: clean
clean:
	cargo clean
