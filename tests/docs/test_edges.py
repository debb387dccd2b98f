"""docs/adapters.md and docs/public-ids.md: every snippet runs, that of Django in a project of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict

from tests.conftest import dsn

DOCS = Path(__file__).parents[2] / "docs"
URL = "postgresql+psycopg://localhost/shop"

SETTINGS = """
import os

SECRET_KEY = "only for this test"
USE_TZ = True
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql"} | {
    name: os.environ["DB_" + name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")
}}
"""
USE = """
import django

django.setup()
from shop.models import Line, Order

assert Order().pk is None
orders = Order.objects.bulk_create([Order(), Order()])
assert all(isinstance(order.pk, int) for order in orders)
print(Line.objects.create(order=orders[0]).order_id == orders[0].pk)
"""


def snippets(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def run(*words: str, directory: Path | None = None, **environment: str) -> str:
    command = [sys.executable, "-W", "error", *words]
    done = subprocess.run(command, cwd=directory, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "snippet",
    [text for page in ("adapters.md", "public-ids.md") for text in snippets(page) if URL not in text and "django" not in text],
    ids=lambda text: text.splitlines()[0],
)
def test_snippets_run(snippet: str) -> None:
    run("-c", snippet)


def test_the_snippet_of_sqlmodel_runs(shard: sa.Engine) -> None:
    (snippet,) = [text for text in snippets("adapters.md") if URL in text]
    info = conninfo_to_dict(dsn(shard))
    parts = [None if info.get(name) is None else str(info[name]) for name in ("user", "password", "host", "port", "dbname")]
    user, password, host, port, name = parts
    url = sa.URL.create("postgresql+psycopg", user, password, host, int(port) if port else None, name)
    run("-c", snippet.replace(URL, url.render_as_string(hide_password=False)))


def test_the_snippet_of_django_is_migrated_and_used(shard: sa.Engine, tmp_path: Path) -> None:
    (snippet,) = [text for text in snippets("adapters.md") if "django" in text]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "models.py").write_text(snippet)
    (tmp_path / "settings.py").write_text(SETTINGS)
    info = conninfo_to_dict(dsn(shard))
    names = {"NAME": "dbname", "HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    environment = {"DB_" + name: str(info.get(word) or "") for name, word in names.items()}
    environment |= {"DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(tmp_path)}

    def manage(*words: str) -> str:
        return run("-m", "django", *words, directory=tmp_path, **environment)

    manage("check", "--database", "default")
    manage("makemigrations", "shop")
    assert "ShardflakeIdField(primary_key=True" in (tmp_path / "shop" / "migrations" / "0001_initial.py").read_text()
    assert "DEFAULT (shardflake.next_id())" in manage("sqlmigrate", "shop", "0001")
    manage("migrate", "-v", "0")
    assert "No changes detected" in manage("makemigrations", "--check")
    assert run("-c", USE, directory=tmp_path, **environment) == "True\n"
