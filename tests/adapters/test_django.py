"""A Django project on a real shard: checks, migrations, inserts, lookups and forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import dsn

SETTINGS = """
import os, json
SECRET_KEY = "for a test"
INSTALLED_APPS = ["shop"]
USE_TZ = True
DATABASES = {"default": json.loads(os.environ["SHOP_DATABASE"])}
"""

MODELS = """
from django.db import models
from shardflake.adapters.django import ShardflakeField

class Order(models.Model):
    id = ShardflakeField(primary_key=True)
    item = models.CharField(max_length=50)
    number = models.IntegerField(default=0)

class Line(models.Model):
    id = ShardflakeField(primary_key=True)
    order = models.ForeignKey(Order, on_delete=models.CASCADE)
"""

USE = """
import django
django.setup()
from django import forms
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from shop.models import Line, Order

order = Order.objects.create(item="tea")
assert type(order.id) is int and order.id > 2**53, order.id
order.number = 1
order.save()
with CaptureQueriesContext(connection) as queries:
    orders = Order.objects.bulk_create([Order(item="cup", number=n) for n in range(500)])
assert len([query for query in queries if query["sql"].startswith("INSERT")]) == 1
assert [o.id for o in orders] == sorted({o.id for o in orders})
assert all(Order.objects.get(id=o.id).number == o.number for o in orders[::100])
line = Line.objects.create(order=order)
assert Line.objects.get(order__id=str(order.id)).order == order
assert Order.objects.filter(id__gt=order.id).count() == 500
given = Order(id=5, item="given")
given.save(force_insert=True)
assert Order.objects.get(pk="5").item == "given"
for bad in (1.0, True):
    try:
        Order.objects.filter(id=bad).count()
    except TypeError as error:
        assert "int or its decimal digits" in str(error)
    else:
        raise AssertionError(bad)
for bad in ("05", 1.0, -1, 2**63):
    try:
        Order(id=bad, item="x").clean_fields()
    except ValidationError as error:
        assert list(error.message_dict) == ["id"], error
    else:
        raise AssertionError(bad)
dumped = serializers.serialize("json", [order])
[back] = serializers.deserialize("json", dumped)
assert back.object.id == order.id
class LineForm(forms.ModelForm):
    class Meta:
        model = Line
        fields = ["order"]
assert LineForm({"order": str(order.id)}).is_valid()
assert not LineForm({"order": "x"}).is_valid()
print("fine")
"""


class Project:
    """A Django project in a directory of its own, run as one is."""

    def __init__(self, directory: Path, database: dict[str, str]) -> None:
        self.directory = directory
        for name, text in (("settings.py", SETTINGS), ("shop/__init__.py", ""), ("shop/models.py", MODELS), ("use.py", USE)):
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(text)
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "settings",
            "SHOP_DATABASE": json.dumps(database),
            "PYTHONPATH": str(directory),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )

    def manage(self, *arguments: str) -> str:
        done = self.run("-m", "django", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def project(shard: sa.Engine, tmp_path: Path) -> Project:
    options = {key: str(value) for key, value in psycopg.conninfo.conninfo_to_dict(dsn(shard)).items()}
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": options["dbname"], "USER": options["user"]}
    database |= {"HOST": options["host"], "PORT": options["port"], "PASSWORD": options.get("password", "")}
    return Project(tmp_path, database)


def test_a_project_on_a_shard(project: Project, connection: psycopg.Connection) -> None:
    assert "no issues" in project.manage("check", "--database", "default")
    project.manage("makemigrations", "shop")
    migration = (project.directory / "shop/migrations/0001_initial.py").read_text()
    assert "db_default=shardflake.adapters.django.NextId()" in migration
    project.manage("migrate")
    assert "No changes" in project.manage("makemigrations", "shop", "--check", "--dry-run")
    columns = connection.execute("select table_name::text, column_name::text from shardflake.id_columns()").fetchall()
    assert sorted(columns) == [("shop_line", "id"), ("shop_order", "id")]
    kinds = connection.execute("select data_type from information_schema.columns where column_name in ('id', 'order_id') "
                               "and table_name like 'shop\\_%'").fetchall()  # fmt: skip
    assert kinds == [("bigint",)] * 3
    done = project.run("use.py")
    assert done.stdout == "fine\n", done.stderr
    project.manage("migrate", "shop", "zero")
    assert connection.execute("select count(*) from shardflake.id_columns()").fetchone() == (0,)


def test_another_database_fails_the_check(tmp_path: Path) -> None:
    project = Project(tmp_path, {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "shop.sqlite")})
    done = project.run("-m", "django", "check", "--database", "default")
    assert done.returncode == 1
    assert "shardflake.E001" in done.stderr
    assert "ShardflakeField needs PostgreSQL" in done.stderr
