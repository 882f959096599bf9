# Everything that is done twice. On a fresh Debian 12 with Swift 6.3, `make build`, `make demo` and `make test`
# install what they need, build, and run. `make install` does neither: it copies.

SHELL := /bin/bash
SWIFT ?= swift
DB ?=
PREFIX ?= /usr/local
DESTDIR ?=
SANITIZE ?=

# The public Chinook sample, where somebody has put it; else the tests make one like it.
CHINOOK_FILE := $(wildcard ../shared/data/chinook.sqlite)
ifneq ($(CHINOOK_FILE),)
export SYNCD_CHINOOK ?= $(abspath $(CHINOOK_FILE))
endif

SEED ?= 0
SEEDS ?= 1000
ROUNDS ?= 1000
STEPS ?=
COUNT ?= 10000000
COMMITS ?= 1000000
SECONDS_EACH ?= 30
SUITES ?=
ONLY ?=
STRESS_SECONDS ?= 300
SECONDS ?= 60
DOCS ?= SyncCore SyncReplica SyncClient SyncObjects Varlink SyncTesting SyncRemotes

export OUT ?= out/program

.PHONY: setup setup-tests build uninstall deb deb-setup deb-test test demo bench bench-history count fuzz faults-disk kill hostility soak week neighbour replay \
	million sim breaks stress lint measure docs peers clean install

# Debian packages and the Python environment of the tests; quick when all is there.
setup:
	@scripts/setup.sh
	@scripts/python-venv.sh >/dev/null

# The same, and what tests alone need.
setup-tests: setup
	@scripts/setup.sh clients page
	@scripts/promtool.sh

# What `make install` copies, in out/program: the program, built for release, its manual pages and completions.
build:
	@scripts/setup.sh build
	@SWIFT='$(SWIFT)' scripts/build.sh

# All tests: Swift, Python, the varlink certification suite. FILTER=Suite runs a part of them. One
# group after the other: what blocks a thread must not starve what waits for a socket, and tests
# with real processes have the machine to themselves. The end of the output names what failed.
test: setup-tests
ifneq ($(FILTER),)
	@SWIFT='$(SWIFT)' scripts/test.py '$(FILTER)'
else
	@SWIFT='$(SWIFT)' scripts/test.py \
		'SyncValuesTests|SyncStorageTests|SyncCoreTests|SyncTestingTests|SyncClientTests|SynctoolTests' \
		SyncMergeTests SyncReplicaTests 'SyncRemotesTests --no-parallel' 'FuzzTests --no-parallel' \
		'SyncObjectsTests --no-parallel' VarlinkTests \
		'SyncdTests|EndToEndTests|DocumentationTests|PackagingTests --no-parallel'
endif

# The tour, on a copy of DB=path or on a small sample. Builds only the two programs that it runs.
demo:
	@scripts/setup.sh build demo
	$(SWIFT) build --product synctool
	$(SWIFT) build --product syncd
	@"$$($(SWIFT) build --show-bin-path)/synctool" demo $(if $(DB),"$(DB)")

# Figures beside the floor of the same run; wants a quiet machine.
bench: setup
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check \
		sqlite-history==0.1 sqlite-chronicle==0.6.1
	$(SWIFT) build -c release --package-path Benchmarks
	$(SWIFT) build -c release --package-path Benchmarks --product syncd
	@for program in Benchmarks/Sources/*Benchmark; do \
		$(SWIFT) run -c release --skip-build --package-path Benchmarks $$(basename $$program); \
	done

# What merging allocates and retains for each row: 1 where that is more than its limits.
count: setup
	$(SWIFT) build -c release --package-path Benchmarks --product CCounts
	$(SWIFT) build -c release --package-path Benchmarks --product MergeBenchmark
	LD_PRELOAD=$(CURDIR)/Benchmarks/.build/release/libCCounts.so \
		Benchmarks/.build/release/MergeBenchmark 20000

# A history of COUNT transactions: what questions and a purge of half of it cost.
bench-history: setup
	$(SWIFT) run -c release --package-path Benchmarks HistoryBenchmark $(COUNT)

# Every fuzz target, SECONDS_EACH seconds each, a line for each; new inputs and finds lie in .build-fuzz.
fuzz:
	@Fuzz/run.sh all $(SECONDS_EACH)

# SEEDS simulations of two replicas on a disk that is full, whose syncs fail, or whose power fails.
faults-disk: setup
	$(SWIFT) build --build-tests
	SYNCD_SEEDS=$(SEEDS) $(SWIFT) test --skip-build --filter DiskFaultTests

# `kill -9` of writers, daemon and clients, ROUNDS rounds: half of them in WAL mode, half in DELETE
# mode. After each, history equals the data. Then of a process that merges, ROUNDS times.
kill: setup
	$(SWIFT) build --build-tests
	SYNCD_KILL_ROUNDS=$$(($(ROUNDS) / 2)) $(SWIFT) test --skip-build --filter KillTests
	SYNCD_KILLS=$(ROUNDS) $(SWIFT) test --skip-build --filter KilledMergeTests

# One user's attacks on a daemon for SECONDS, while another user works (as root): latency, memory.
hostility: setup
	$(SWIFT) build -c release --product syncd
	unshare --pid --fork --kill-child --mount-proc scripts/hostility.py \
		"$$($(SWIFT) build -c release --show-bin-path)/syncd" $(SECONDS)

# Three replicas of four stores, each with a daemon, for SECONDS: random edits, kill -9 of daemons and of
# `synctool sync`. Then all replicas are equal, and their sums were compared.
soak: setup
	$(SWIFT) build --product syncd
	$(SWIFT) build --product synctool
	scripts/soak.py "$$($(SWIFT) build --show-bin-path)" $(SECONDS)

# A week of a machine in SECONDS: twenty stores, fifty clients, restarts, kills, upgrades, remotes that go away; an
# hour is worth its time. Fails where a client missed a commit, copies differ, or the daemon grew.
week: setup
	$(SWIFT) build -c release --product syncd
	$(SWIFT) build -c release --product synctool
	scripts/week.py "$$($(SWIFT) build -c release --show-bin-path)" $(SECONDS)

# How often a program that waits for no lock is refused beside the daemon: about an hour.
neighbour: setup
	$(SWIFT) build --product syncd
	$(SWIFT) build --product synctool
	scripts/neighbour.py --pauses 200 random 20 5 1
	scripts/neighbour.py --pauses 200 20 5 1 --rounds 200 --direct 1

# SEEDS random schemas with random writers: history replayed equals the tables. Then SEEDS times
# readers of every kind: what one was told is what all are told.
replay: setup
	$(SWIFT) build --build-tests
	SYNCD_SEEDS=$(SEEDS) $(SWIFT) test --skip-build --filter RandomReplayTests
	SYNCD_SEEDS=$(SEEDS) $(SWIFT) test --skip-build --filter MixedReadersTests

# COMMITS commits of four processes at once, beside a daemon: fails when a client missed one, or
# was told of one twice.
million: setup
	$(SWIFT) build -c release --package-path Benchmarks --product NoticeBenchmark
	$(SWIFT) build -c release --package-path Benchmarks --product syncd
	COMMITS=$(COMMITS) $(SWIFT) run -c release --skip-build --package-path Benchmarks \
		NoticeBenchmark million

# SEEDS merge simulations of each kind, a tenth of that by both lanes, and a tenth with killed replicas, from SEED on;
# a failure prints its seed. STEPS=n sets the length of each.
sim: setup
	$(SWIFT) run -c release syncsim --seed $(SEED) --count $(SEEDS) $(if $(STEPS),--steps $(STEPS))
	$(SWIFT) run -c release syncsim --kind files --seed $(SEED) --count $(SEEDS) \
		$(if $(STEPS),--steps $(STEPS))
	$(SWIFT) run -c release syncsim --kind files --both --schedules simple --seed $(SEED) \
		--count $$(( $(SEEDS) / 10 + 1 ))
	$(SWIFT) run -c release syncsim --kind files --kills --seed $(SEED) --count $$(( $(SEEDS) / 10 + 1 ))

# Breaks the rules of merging on purpose, one after the other (Tests/Breaks), and prints which seed of the
# simulations, or which test, finds it: two builds, then up to three minutes for each. ONLY=word: those with it
# in their names.
breaks: setup
	scripts/breaks.py --tests $(if $(ONLY),--only "$(ONLY)")

# The test suites of Django, SQLAlchemy and others on tracked databases, without and beside a daemon: no failure
# that tracking causes. SUITES="cpython django" runs a part; scripts/peers/README.md.
peers: setup
	$(SWIFT) build --product synctool
	$(SWIFT) build --product syncd
	@scripts/peers/run.py --programs "$$($(SWIFT) build --show-bin-path)" $(SUITES)

# The object layer under the thread sanitizer: four processes with six threads each, random
# operations on a thousand objects for STRESS_SECONDS; then every context must equal the store.
stress: setup
	$(SWIFT) build --sanitize=thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build-tsan \
		--product objectstress
	@rm -rf .build-tsan/stress && mkdir -p .build-tsan/stress
	.build-tsan/debug/objectstress .build-tsan/stress/store.sqlite --seconds $(STRESS_SECONDS)

lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests
	@scripts/tidy.py
	@scripts/dead.py
	@scripts/measure.py --limits
	@scripts/breaks.py --check

# The libraries' API as web pages below .build/documentation; needs swift-docc-plugin. DOCS=Target builds
# those targets alone.
docs: setup
	@mkdir -p .build/documentation
	@for target in $(DOCS); do \
		echo "docs: $$target"; \
		SYNCD_DOCS=1 $(SWIFT) package --allow-writing-to-directory .build/documentation \
			generate-documentation --target $$target \
			--output-path .build/documentation/$$target || exit 1; \
	done

# The counts behind the rules: labels, errors and symbols without a comment, dead declarations, circles.
# `make lint` fails above their limits.
measure:
	@scripts/measure.py

clean:
	rm -rf .build .build-* .venv .promtool out

# Copies what `make build` made, with the units, below PREFIX (default /usr/local; DESTDIR: a staging folder). As root,
# or with PREFIX=$HOME/.local. Compiles nothing.
install:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh

# Removes what `make install` put below the same PREFIX. Databases, configuration and state stay.
uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/uninstall.sh

# What building and testing the Debian package needs.
deb-setup:
	@scripts/setup.sh build deb

# The Debian package, in out, checked by lintian.
deb:
	@SWIFT='$(SWIFT)' scripts/deb.sh

# As root: that package on a bare Debian 12 (debootstrap) under a systemd of its own: installed, the guide followed
# word by word, upgraded under clients, removed, purged.
deb-test:
	@scripts/deb-test.sh
