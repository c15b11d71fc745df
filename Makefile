# SPDX-License-Identifier: MIT
# The entry point for people. Meson builds; this file has a target for each task and does the set-up. A "## text" after a target
# is its line in `make help`.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
# One name or part of a name each: make test T='test_status golden'.
T       ?=
FUZZ_SECONDS ?= 60
# If set, the time for all targets together; FUZZ_SECONDS is then ignored.
FUZZ_MINUTES ?=

# Prefer Debian's interpreter: another python3 earlier on PATH would not find Debian's torch.
PYTHON  := $(firstword $(wildcard /usr/bin/python3) python3)
RUN     := $(PYTHON) tools/run_tests.py

# A terminal gets one line per compiled file; a log gets only warnings and errors.
QUIET   := $(if $(MAKE_TERMOUT),,--quiet)

# bench/<name>/run.sh for each name; also reachable alone as `make bench-<name>`.
BENCHES := $(sort $(patsubst bench/%/run.sh,%,$(wildcard bench/*/run.sh)))

# Only the plain build treats warnings as errors: the sanitizers' instrumentation makes gcc warn about code that it generated
# itself. Sanitizer builds report through the test runner.
SANITIZE_asan  := address,undefined
SANITIZE_ubsan := undefined
SANITIZE_tsan  := thread

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: build test demo lint bench soak fuzz check-gpu check-seeds check-torch2 check-cluster check-exports check-engines \
	check-firefox check-frameworks check-asan check-ubsan check-tsan golden-update install clean help setup format web docs \
	screens wheel deb sbom release-notes check-packages

build: $(BUILD)/build.ninja  ## build everything into build/ (the default); needs only gcc, meson, ninja
	@ninja -C $(BUILD) $(QUIET) products

test: setup  ## set up, build, and run every test; last line: N passed, N failed, N skipped
	@$(MAKE) --no-print-directory test-build build-asan-tests
	@tools/fetch_servers.sh $(BUILD)
	@$(RUN) --exclude-suite soak $(BUILD) asan=build-asan -- $(T)

demo: setup  ## set up, build, and show what it does
	@$(MAKE) --no-print-directory build
	@tools/demo.sh $(BUILD)

lint: test-build  ## formatting, static analysis, layers, headers, sizes
	@$(RUN) --suite lint $(BUILD) -- $(T)
	@$(PYTHON) tools/size_report.py --build $(BUILD)

bench: $(addprefix bench-,$(BENCHES))  ## run all benchmarks (bench-<name> for one)

bench-%: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(QUIET) products bench-programs
	@bench/$*/run.sh $(BUILD)

soak: test-build  ## the long tests: thousands of kills, hours of events
	@$(RUN) --suite soak $(BUILD) -- $(T)

fuzz:  ## fuzz every reader with libFuzzer for FUZZ_SECONDS each, or FUZZ_MINUTES in all
	@FUZZ_MINUTES=$(FUZZ_MINUTES) tools/fuzz.sh $(FUZZ_SECONDS) $(T)

check-gpu: test-build  ## the tests that need a real device
	@$(RUN) --suite gpu $(BUILD) -- $(T)

check-seeds: build  ## every code and shell block of the texts in ../shared/seeds, as it is; prints a table
	@PYTHONPATH=tests/lib $(PYTHON) tests/seeds/test_seeds.py $(BUILD) all

check-torch2: test-build  ## the recorder's tests with the torch 2 and Python 3.13 of Debian 13, in a folder of their own (root, 2 GB)
	@tools/check-torch2.sh $(BUILD)

check-frameworks: build  ## trainings with torch, Lightning, transformers, TensorFlow, JAX … from PyPI, outside the tree (7 GB); T= for some
	@tools/check-frameworks.sh $(BUILD) $(T)

check-exports: build  ## exports opened by Perfetto's trace processor, speedscope and go tool pprof
	@tools/check_exports.sh $(BUILD)

check-cluster: build  ## ranks under a real Slurm of one node, and namespaces as nodes (root; slurmctld, slurmd, slurm-client, munge)
	@PYTHONPATH=tests/lib $(PYTHON) tests/cluster/test_cluster.py $(BUILD)/stormlog

check-engines: test-build  ## tables, profiles, uploads and contrib/ with the engines themselves: DuckDB, ClickHouse, Spark, Pyroscope, S3 servers, Kubernetes' schemas
	@tools/check_engines.sh $(BUILD)

check-firefox: build  ## pages in Debian's Firefox (package firefox-esr)
	@STORMLOG=$(BUILD)/stormlog node --test tests/web/firefox.mjs

check-asan: build-asan-tests  ## all tests under AddressSanitizer and UBSan
	@$(RUN) --exclude-suite soak asan=build-asan -- $(T)

check-ubsan: build-ubsan-tests  ## all tests under UBSan alone
	@$(RUN) --exclude-suite soak ubsan=build-ubsan -- $(T)

check-tsan: build-tsan-tests  ## all tests under ThreadSanitizer
	@$(RUN) --exclude-suite soak tsan=build-tsan -- $(T)

golden-update: test-build  ## record golden outputs, symbol lists and README's transcripts anew; review with git diff
	@$(PYTHON) tests/golden/run.py --update --stormlog $(BUILD)/stormlog $(T)
	@$(PYTHON) tests/abi/check_symbols.py --update $(BUILD)
	@PYTHONPATH=tests/lib $(PYTHON) tests/claims/test_blocks.py $(BUILD) --update

web: setup  ## rebuild the page's template (web/dist/report.html) from its sources
	@$(PYTHON) web/gen_schema.py
	@cd web && node node_modules/typescript/bin/tsc && node build.mjs

screens: $(BUILD)/build.ninja  ## draw the screens of the full-screen program in the README anew (docs/tui-*.svg)
	@ninja -C $(BUILD) $(QUIET) tests/tui/tui_probe
	@$(BUILD)/tests/tui/tui_probe svg-file tests/data/h200/s1_loss_history.pickle.gz 100 28 3 >docs/tui-timeline.svg
	@$(BUILD)/tests/tui/tui_probe svg-file tests/data/h200/s1_loss_history.pickle.gz 100 28 10 >docs/tui-sites.svg

format:  ## rewrite the C sources with clang-format, the page's with prettier
	@$(PYTHON) tools/check_format.py --fix
	@$(PYTHON) tools/check_typescript.py --fix

docs: build  ## the documentation as a site in build/docs-site/site: no warning, every link followed, search tried in Chromium
	@[ -x /usr/bin/mkdocs ] && [ -d /usr/share/mkdocs/themes/material ] || apt-get install -y -qq --no-install-recommends mkdocs mkdocs-material
	@$(PYTHON) tools/make_docs.py $(BUILD)
	@DOCS_SITE=$(BUILD)/docs-site/site node --test tests/web/docs_site.mjs

install: build  ## install below PREFIX (DESTDIR is put in front)
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@ninja -C $(BUILD) $(QUIET) products >/dev/null
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild --quiet
	@echo "installed: $(DESTDIR)$(abspath $(PREFIX))/bin/stormlog"

wheel: setup  ## dist/: sdist, and a wheel for every Linux with glibc 2.25 (tried: 2.27) or newer and CPython 3.9 or newer (network)
	@packaging/wheel/build.sh

deb:  ## dist/: Debian packages (root installs what they need to be built)
	@packaging/make_deb.sh

sbom: build  ## dist/: what the programs and a wheel are made of, as CycloneDX documents
	@mkdir -p dist
	@$(PYTHON) packaging/sbom.py $(BUILD) >dist/stormlog.cdx.json
	@$(PYTHON) packaging/sbom.py $(BUILD) --wheel >dist/stormlog-wheel.cdx.json
	@echo "dist/stormlog.cdx.json, dist/stormlog-wheel.cdx.json"

release-notes:  ## print the release notes of this version, from CHANGELOG.md
	@$(PYTHON) packaging/release_notes.py

check-packages: wheel deb  ## install every package where it belongs, and use it there (root, network, 3 GB)
	@tools/count_tap.sh $(PYTHON) packaging/check.py $(T)

clean:  ## remove everything that was built
	rm -rf build build-asan build-ubsan build-tsan build-fuzz dist

help:  ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup:
	@tools/setup.sh

# --- Build folders ---------------------------------------------------------------------------------------------

# Meson does not notice when a package is installed or removed after the folder was configured, although that changes what it
# finds.
DPKG_STATUS := $(wildcard /var/lib/dpkg/status)

define configure
	@mkdir -p $(@D)
	@if [ -f $@ ]; then \
	    meson configure $(@D) --clearcache && meson setup --reconfigure $(@D) $(1); \
	else \
	    meson setup $(@D) $(1); \
	fi >$(@D)/configure.log 2>&1 || { cat $(@D)/configure.log; exit 1; }
	@touch $@
endef

$(BUILD)/build.ninja: $(DPKG_STATUS)
	$(call configure)

.PRECIOUS: build-%/build.ninja
build-%/build.ninja: $(DPKG_STATUS)
	$(call configure,-Db_sanitize=$(SANITIZE_$*) -Db_lundef=false -Dwerror=false)

.PHONY: test-build
test-build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(QUIET) all meson-test-prereq

build-%-tests: build-%/build.ninja
	@ninja -C build-$* $(QUIET) all meson-test-prereq
