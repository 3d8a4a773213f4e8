# `make help` lists what there is. Two commands matter: `make run` and `make test`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
UV_INSTALL := $(UV) pip install -q --python $(BIN)/python --require-hashes --only-binary :all:
LOCK := $(UV) pip compile -q --generate-hashes --universal --no-emit-index-url --no-emit-find-links \
        --python-version 3.11 --custom-compile-command 'make lock'

.PHONY: help run console console-soon screenshots wheel audit sbom helm console-test test check fmt lint types bench fuzz fuzz-api docs zones simulate watching histories mutants torture moving missing waiting publishing soak services services-down lock clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- the environment: a virtual environment holding exactly the hash-locked packages -----------
.venv/.runtime: requirements/build.txt requirements/runtime.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/build.txt
	@$(UV_INSTALL) -r requirements/runtime.txt
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation --offline -e .
	@touch $@

# Compiled: tests start many processes, some of them where nothing that is compiled may be left behind.
.venv/.dev: .venv/.runtime requirements/dev.txt
	@$(UV_INSTALL) --compile-bytecode -r requirements/dev.txt
	@touch $@

run: .venv/.runtime  ## start Muster on 127.0.0.1:8080, with SQLite in ./data
	@$(MAKE) -s console-soon & exec $(BIN)/muster serve

# --- the console: TypeScript, built into the package ---------------------------------------------
CONSOLE := src/muster/api/pages/console
CONSOLE_SOURCES := $(shell find console/src console/index.html console/*.ts console/*.json -type f 2>/dev/null)

console: $(CONSOLE)/index.html  ## build the web console, with Node.js 20.19 or later

console/node_modules/.done: console/package.json console/package-lock.json
# `npm ci` would refuse where a package for some other platform is not to be had; this takes the lock as it is, too.
	@cd console && npm install --no-save --silent --no-fund --no-audit && touch node_modules/.done

# Its types are those of the API's own document.
console/src/api/schema.d.ts: console/node_modules/.done $(shell find src/muster/api -name '*.py') | .venv/.runtime
	@mkdir -p console/.build && $(BIN)/python scripts/openapi.py console/.build/openapi.json >console/.build/log
	@cd console && npx openapi-typescript .build/openapi.json --default-non-nullable=false -o .build/schema.d.ts >>.build/log
	@cmp -s console/.build/schema.d.ts $@ || cp console/.build/schema.d.ts $@
	@touch $@

# Beside the old one, and then in its place: a server that runs has one or the other.
$(CONSOLE)/index.html: console/node_modules/.done console/src/api/schema.d.ts $(CONSOLE_SOURCES)
	@cd console && npx vite build --logLevel error --outDir .build/built
	@rm -rf $(CONSOLE) && mv console/.build/built $(CONSOLE) && touch $@

wheel: console .venv/.runtime  ## build the package, with the console inside, into dist/
	@rm -f dist/muster-*.whl && $(UV) build -q --wheel --offline --no-build-isolation --python $(BIN)/python -o dist && ls dist/*.whl

screenshots: .venv/.dev console  ## the console's pages as pictures, for the docs: NAME= for some of them
	@$(BIN)/python scripts/screenshots.py $(NAME)

console-test: console/node_modules/.done  ## the tests of the console's own functions
	@cd console && npx vitest run --silent --reporter=dot

# Nobody waits for it: where it is not there yet, or there is no Node.js, the front page says so.
console-soon:
	@if command -v npm >/dev/null; then $(MAKE) -s console >/dev/null 2>&1 || true; fi

test: .venv/.dev lint types console console-test  ## prove everything, on real services that are started and ended here
	@scripts/test

check: .venv/.dev lint types  ## lint, types and the fast tests, in about a minute
	@$(BIN)/pytest -n 2 tests/unit tests/contract tests/docs \
	  -m "not slow and not postgres and not mariadb and not redis and not oidc and not kafka and not registry and not spel and not browser"

lint: .venv/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@if command -v npm >/dev/null; then $(MAKE) -s console/node_modules/.done && cd console && npx biome ci --log-level=error .; fi

types: .venv/.dev
	@$(BIN)/mypy
	@MYPYPATH=src:bench $(BIN)/mypy --explicit-package-bases bench/*.py
	@if command -v npm >/dev/null; then $(MAKE) -s console/src/api/schema.d.ts && cd console && npx tsc --noEmit; fi

fmt: .venv/.dev  ## format the code and mend what the linter can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

lock: .venv/.runtime  ## choose versions anew and write the lock files
	@$(LOCK) --upgrade pyproject.toml --group build -o requirements/runtime.txt
	@$(LOCK) pyproject.toml --group build --group dev -c requirements/runtime.txt -o requirements/dev.txt
	@$(LOCK) --group pyproject.toml:build -c requirements/runtime.txt -o requirements/build.txt
	@$(LOCK) --group pyproject.toml:dbos -o requirements/dbos.txt

docs: .venv/.dev  ## the documentation as a site that needs no network, into dist/site
	@$(BIN)/python scripts/site/build.py dist/site

audit: .venv/.runtime  ## ask OSV whether a locked package has a known vulnerability (needs the internet): SERVICE=
	@$(BIN)/python scripts/audit.py $(if $(SERVICE),--service $(SERVICE))

sbom: .venv/.runtime  ## the software bill of materials (CycloneDX) of what ships, into dist/
	@$(BIN)/python scripts/sbom.py dist/muster.cdx.json

# The module's checksum is held against Go's public database of them.
.tools/helm:
	@mkdir -p .tools && GOBIN=$(CURDIR)/.tools GOFLAGS= go install helm.sh/helm/v3/cmd/helm@v3.18.0

helm: .venv/.dev .tools/helm  ## lint the chart with the real Helm, built from its module with Go, and hold our tests' rendering against its
	@PYTHONPATH=tests $(BIN)/python tests/chart_for_tests.py .tools/helm

.venv-dbos/.done: .venv/.runtime requirements/dbos.txt
	@$(UV) venv -q --clear --python $(BIN)/python .venv-dbos
	@$(UV) pip install -q --python .venv-dbos/bin/python --require-hashes --only-binary :all: -r requirements/dbos.txt
	@touch $@

bench: .venv/.dev .venv-dbos/.done  ## the benchmarks, as ratios within one run
	@scripts/bench

fuzz: .venv/.dev  ## a million hostile expressions: values or clear errors, nothing else; and new ones against Spring
	@$(BIN)/python tests/fuzz/fuzz_expressions.py --count $(or $(COUNT),1000000)
	@SPEL_SEED=$(or $(SEED),$$RANDOM$$RANDOM) SPEL_COUNT=$(or $(SPEL_COUNT),40000) scripts/test -q tests/differential/test_spel_generated.py

fuzz-api: .venv/.dev  ## every operation of the API, by its own document, with what fits it and what does not: COUNT= SEED=
	@PYTHONPATH=tests $(BIN)/python tests/fuzz/fuzz_api.py --count $(or $(COUNT),200) --seed $(or $(SEED),$$RANDOM)

zones: .venv/.dev  ## schedules in every zone, around every change of its clock, from every minute
	@PYTHONPATH=tests $(BIN)/python tests/fuzz/sweep_zones.py

simulate: .venv/.dev  ## crash and break it under SEEDS seeds (20000 of the engine), or show one: SEED=n
	@$(BIN)/python -m muster.sim $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS))

watching: .venv/.dev  ## random events through random graphs, against a plain reading of the rules: COUNT= SEED=
	@PYTHONPATH=tests $(BIN)/python -m watch_traces $(or $(SEED),0) $(or $(COUNT),10000)

histories: .venv/.dev  ## what eight clients ask of a cache and of locks at once, in Redis, could be one after the other: COUNT=
	@HISTORIES=$(or $(COUNT),500) scripts/test -n 0 -s -q tests/contract/test_cache_histories.py -k redis

mutants: .venv/.dev  ## remove every guard once, and see that something notices: NAME= for some of them
	@PYTHONPATH=tests $(BIN)/python -m mutants $(NAME)

torture: .venv/.dev  ## 10,000 executions while real instances are killed, frozen and restarted: EXECUTIONS= SEED= SQLITE=1
	@PYTHONPATH=tests $(BIN)/python -m torture --executions $(or $(EXECUTIONS),10000) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(if $(SQLITE),--sqlite)

publishing: .venv/.dev  ## 50,000 messages of the outbox while publishers are killed and frozen: MESSAGES= SEED=
	@PUBLISHING_MESSAGES=$(or $(MESSAGES),50000) PUBLISHING_SEED=$(or $(SEED),1) \
	  scripts/test -n 0 -s -o faulthandler_timeout=7200 tests/fault/test_publishing_torture.py

moving: .venv/.dev  ## 5,000 executions that rest three times, while the instances and a Redis come and go: EXECUTIONS= SEED= EVERY= NO_REDIS=1 BUSY=1
	@PYTHONPATH=tests $(BIN)/python -m torture --moving --executions $(or $(EXECUTIONS),5000) \
	  --every $(or $(EVERY),4) $(if $(SEED),--seed $(SEED)) $(if $(NO_REDIS),--no-redis) $(if $(BUSY),--busy)

missing: .venv/.dev  ## 100,000 expectations due within a minute, while the instances are killed: COUNT= SEED= EVERY=
	@PYTHONPATH=tests $(BIN)/python -m torture --missing --executions $(or $(COUNT),100000) \
	  --every $(or $(EVERY),4) $(if $(SEED),--seed $(SEED))

waiting: .venv/.dev  ## 20,000 waits answered over callbacks and Kafka, while the instances come and go: EXECUTIONS= SEED= EVERY= OUTAGE=1 BROKER=1
	@PYTHONPATH=tests $(BIN)/python -m torture --waiting --executions $(or $(EXECUTIONS),20000) \
	  --every $(or $(EVERY),4) $(if $(SEED),--seed $(SEED)) $(if $(OUTAGE),--outage) $(if $(BROKER),--broker)

soak: .venv/.dev  ## all kinds of work on four instances, while everything under them goes wrong, and one table: MINUTES= SEED= EVERY=
	@PYTHONPATH=tests $(BIN)/python -m soak --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED)) $(if $(EVERY),--every $(EVERY))

services:  ## start the tests' services and leave them running: eval "$(make -s services)"
	@scripts/services.py install && scripts/services.py up

services-down:  ## end them
	@scripts/services.py down

clean:  ## remove what was built (not ./data)
	@rm -rf .venv .venv-dbos .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis dist $(CONSOLE) console/node_modules console/.build
