# One name per thing a developer does; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup demo check format test test-guards test-native test-packages test-python bench bench-accuracy bench-check bench-formal bench-losses bench-objects bench-pages bench-real bench-plans bench-robust bench-stress bench-suites clean

BIN := .venv/bin
SOURCES := $(shell git ls-files src native CMakeLists.txt 2>/dev/null)

# What a build needs beyond gcc and make; CMake and Ninja come from PyPI.
BUILD_PACKAGES := g++ libc6-dev python3-venv clang-19 llvm-19-dev
# Programs that the tests run under Leakline and compare with a plain run.
TEST_PACKAGES := bash bzip2 ccache chromium chromium-driver dwz gawk git gzip \
    nginx-light openssl perl python3 redis-server redis-tools sqlite3 xz-utils
# Another version of clang that `leakline cc` works with.
TEST_PACKAGES += clang-16 llvm-16-dev
# Libraries that people preload besides ours.
TEST_PACKAGES += libeatmydata1 libfaketime libjemalloc2
# Readers of our reports, manual page and completions.
TEST_PACKAGES += fish golang-go groff jq patch procps zsh

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 18

setup: .venv/.installed  ## Packages, .venv and the built command .venv/bin/leakline

.venv/.tools: pyproject.toml Makefile
	tools/install_packages.sh $(BUILD_PACKAGES)
	python3 -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --group dev
	touch $@

.venv/.installed: .venv/.tools $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet '.[static]'
	mkdir -p .venv/share/man/man1
	$(BIN)/leakline integrate man > .venv/share/man/man1/leakline.1
	touch $@

demo: setup  ## Find the leaks of a small program
	examples/inventory/demo.sh $(BIN)/leakline

check: setup  ## Formatting, lint, types, import layers, generated files
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	git ls-files '*.c' '*.h' '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-logo
	$(BIN)/python tools/generate_format.py --check

format: setup  ## Rewrite all sources in the house style
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .
	git ls-files '*.c' '*.h' '*.cpp' | xargs $(BIN)/clang-format -i
	$(BIN)/python tools/generate_format.py

test: test-native test-python  ## All tests

test-native: setup  ## Runtime units: plain, ASan with UBSan, TSan
	for preset in dev asan tsan; do \
	    PATH="$(CURDIR)/$(BIN):$$PATH" cmake --workflow --preset $$preset || exit 1; \
	done

test-guards: setup test-packages  ## Each guard of lens pages removed: its test must fail
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/remove_guards.py

test-packages:
	tools/install_packages.sh $(TEST_PACKAGES)

test-python: setup test-packages  ## Python units and whole runs of real programs
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal

bench: setup bench-check  ## Speed and memory beside Valgrind, heaptrack and LeakSanitizer
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.compiled
	$(BIN)/python -m benchmarks.warm_up
	$(BIN)/python -m benchmarks.starts

bench-accuracy: setup  ## How well idle memory is found, against oracles
	tools/install_packages.sh cppcheck lua5.4 perl redis-server sqlite3
	$(BIN)/python -m benchmarks.accuracy

bench-check: setup  ## Of these the static checker, beside other analysers
	tools/install_packages.sh cppcheck
	$(BIN)/python -m benchmarks.check

bench-formal: setup  ## Losses of random programs, against the semantics of their language
	$(BIN)/python -m benchmarks.formal

bench-losses: setup  ## Whether losses are told where an oracle has them
	$(BIN)/python -m benchmarks.losses

bench-objects: setup  ## Losses of random C++ programs full of objects
	$(BIN)/python -m benchmarks.objects

bench-real: setup  ## The static checker and other analysers on Debian sources
	tools/install_packages.sh cppcheck
	$(BIN)/python -m benchmarks.real

bench-suites: setup  ## Tests and a known leak of programs by `leakline cc`
	$(BIN)/python -m benchmarks.suites
	$(BIN)/python -m benchmarks.locate

bench-stress: setup  ## Runs while code is armed and disarmed all the time
	tools/install_packages.sh $(TEST_PACKAGES) redis-server
	$(BIN)/python -m benchmarks.stress

bench-pages: setup  ## Latency of redis under lens pages, and its cost on large heaps
	tools/install_packages.sh redis-server
	$(BIN)/python -m benchmarks.pages

bench-plans: setup  ## What it takes to plan the patches of programs, and their coverage
	$(BIN)/python -m benchmarks.plans

bench-robust: setup  ## Many real programs, patched, beside themselves as they are
	$(BIN)/python -m benchmarks.robust

clean:  ## Remove everything that was built
	rm -rf build .venv
