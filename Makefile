# Each target makes its own virtual environment from a bare python3; nothing else is needed.
PYTHON ?= python3
POSTGRES_15 ?= /usr/lib/postgresql/15/bin
PYTEST = .venv/bin/python -m pytest

.PHONY: demo test lint snapshot bench-generator clean

demo: .venv/ready
	.venv/bin/shardflake demo $(DEMO_ARGS)

test: .venv/ready .venv-sqlalchemy20/ready
	$(PYTEST)
	@if [ -x $(POSTGRES_15)/postgres ]; then $(PYTEST) tests/sql tests/migrations tests/orm --pg-bin $(POSTGRES_15); \
	 else echo "PostgreSQL 15 is not in $(POSTGRES_15): its pass is left out"; fi
	.venv-sqlalchemy20/bin/python -m pytest tests/orm tests/migrations
	$(PYTEST) tests/docker --pg-docker

lint: .venv/ready
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

snapshot: .venv/ready
	.venv/bin/python -m tests.snapshot

bench-generator: .venv/ready
	.venv/bin/python -m shardflake.bench.generator $(BENCH_ARGS)

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[test,lint]' 'sqlalchemy>=2.1'
	touch $@

.venv-sqlalchemy20/ready: pyproject.toml
	$(PYTHON) -m venv .venv-sqlalchemy20
	.venv-sqlalchemy20/bin/python -m pip install -q --disable-pip-version-check -e '.[test]' 'sqlalchemy~=2.0.40'
	touch $@

clean:
	rm -rf .venv .venv-sqlalchemy20 dist
