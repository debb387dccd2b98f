"""Django's field on a real server: keys from the database, also in bulk; migrations; bad values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import django
import psycopg
import pytest
import sqlalchemy as sa
from django.conf import settings
from django.core.exceptions import ValidationError
from psycopg.conninfo import conninfo_to_dict

from shardflake import InvalidIdError, decode
from shardflake.layout import MAX_ID
from tests.conftest import dsn

BACKEND = "django.db.backends.postgresql"
settings.configure(
    USE_TZ=True,
    INSTALLED_APPS=[],
    DATABASES={"default": {"ENGINE": BACKEND}, "lite": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()

from django.db import connections, migrations, models  # noqa: E402
from django.db.migrations.autodetector import MigrationAutodetector  # noqa: E402
from django.db.migrations.state import ModelState, ProjectState  # noqa: E402
from django.db.migrations.writer import MigrationWriter  # noqa: E402

from shardflake.adapters.django import NextId, ShardflakeIdField  # noqa: E402


class Order(models.Model):
    id = ShardflakeIdField(primary_key=True)
    note = models.TextField()

    class Meta:
        app_label = "shop"


class Line(models.Model):
    id = ShardflakeIdField(primary_key=True)
    order = models.ForeignKey(Order, models.CASCADE)
    external = ShardflakeIdField(null=True)

    class Meta:
        app_label = "shop"


@pytest.fixture
def tables(shard: sa.Engine) -> Iterator[Any]:
    """The tables of the two models in shard 5, and Django's connection to it."""
    connection = connections["default"]
    info = conninfo_to_dict(dsn(shard))
    names = {"NAME": "dbname", "HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    connection.settings_dict |= {name: info.get(word) or "" for name, word in names.items()}
    with connection.schema_editor() as editor:
        editor.create_model(Order)
        editor.create_model(Line)
    yield connection
    connection.close()


@pytest.mark.usefixtures("tables")
def test_the_database_makes_the_keys_one_by_one_and_in_bulk() -> None:
    assert Order(note="new").pk is None
    first = Order.objects.create(note="first")
    assert decode(first.pk).shard == 5
    saved = Order(note="saved")
    saved.full_clean()
    saved.save()
    assert saved.pk > first.pk
    many = Order.objects.bulk_create([Order(note=str(number)) for number in range(2000)])
    assert len({order.pk for order in many}) == 2000
    assert dict(Order.objects.filter(pk__gt=saved.pk).values_list("pk", "note")) == {order.pk: order.note for order in many}
    saved.note = "again"
    saved.save()
    assert Order.objects.get(pk=saved.pk).note == "again"
    assert Order.objects.create(pk=7, note="given").pk == 7


@pytest.mark.usefixtures("tables")
def test_digits_are_taken_as_ids_and_foreign_keys_follow() -> None:
    order = Order.objects.create(note="first")
    assert Order.objects.get(pk=str(order.pk)) == order
    line = Line.objects.create(order_id=str(order.pk), external=str(MAX_ID))
    line.refresh_from_db()
    assert (line.order_id, line.external) == (order.pk, MAX_ID)
    assert Line.objects.create(order=order).external is None
    assert Line.objects.filter(order__in=[order], id__gte=line.pk).count() == 2


def test_the_columns_in_the_database(tables: Any, shard: sa.Engine) -> None:
    with psycopg.connect(dsn(shard)) as connection:
        rows = connection.execute(
            "select column_name, data_type, column_default from information_schema.columns where table_name = 'shop_line'"
        ).fetchall()
    assert set(rows) == {
        ("id", "bigint", "shardflake.next_id()"),
        ("order_id", "bigint", None),
        ("external", "bigint", None),
    }


@pytest.mark.parametrize("value", ["-1", "05", "x", 5.0, True, -1, MAX_ID + 1, str(MAX_ID + 1)])
def test_what_is_no_id_is_refused(value: Any) -> None:
    field = Order._meta.get_field("id")
    with pytest.raises(ValidationError, match="not an id"):
        field.to_python(value)
    with pytest.raises(InvalidIdError):
        Order.objects.filter(pk=value)
    assert field.to_python("5") == 5
    assert field.to_python(None) is None


def test_migrations_name_the_field_and_settle() -> None:
    for model in (Order, Line):
        arguments = model._meta.get_field("id").deconstruct()[1:]
        # Django's own keys have serialize=False in migrations too
        assert arguments == ("shardflake.adapters.django.ShardflakeIdField", [], {"primary_key": True, "serialize": False})
    field = ShardflakeIdField(primary_key=True)
    assert MigrationWriter.serialize(field)[0] == "shardflake.adapters.django.ShardflakeIdField(primary_key=True)"
    assert isinstance(field.clone().db_default, NextId)
    assert not ShardflakeIdField().has_db_default()
    before, after = ProjectState(), ProjectState()
    for state in (before, after):
        state.add_model(ModelState.from_model(Order))
    assert MigrationAutodetector(before, after)._detect_changes() == {}
    assert list(MigrationAutodetector(ProjectState(), after)._detect_changes()) == ["shop"]


def test_a_migration_of_the_field_runs(tables: Any) -> None:
    fields = [("id", ShardflakeIdField(primary_key=True)), ("note", models.TextField())]
    operation = migrations.CreateModel("Note", fields)
    state = ProjectState()
    operation.state_forwards("shop", state)
    with tables.schema_editor() as editor:
        operation.database_forwards("shop", editor, ProjectState(), state)
    note = state.apps.get_model("shop", "Note").objects.create(note="x")
    assert decode(note.pk).shard == 5


def test_checks_find_a_database_that_makes_no_ids() -> None:
    assert Order.check(databases=["default"]) == []
    assert [error.id for error in Order.check(databases=["lite"])] == ["shardflake.E001"]
