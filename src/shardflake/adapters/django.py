"""The Django model field of ids (extra ``django``), whose default is made by the database; Django 5.2 and later.

::

    class Order(models.Model):
        id = ShardflakeIdField(primary_key=True)

Migrations create the column with ``DEFAULT shardflake.next_id()``, so the generator must be installed first.
"""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.exceptions import ValidationError
from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id

__all__ = ["NextId", "ShardflakeIdField"]


class NextId(models.Func):
    """``shardflake.next_id()``, to be used as a ``db_default``."""

    function = "shardflake.next_id"
    arity = 0
    output_field = models.BigIntegerField()


class ShardflakeIdField(models.BigIntegerField):
    """A bigint that holds an id, ``int`` in Python; takes its decimal digits too, as ids travel in JSON.

    As a primary key it draws the id from the database, unless ``db_default`` says something else.
    """

    description = "A 64-bit id of shardflake"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("primary_key"):
            kwargs.setdefault("db_default", NextId())
            kwargs.setdefault("blank", True)  # as Django's own automatic keys: full_clean() accepts a row without one
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Return the field for a migration, without what the constructor adds."""
        name, path, args, kwargs = super().deconstruct()
        if self.primary_key and isinstance(kwargs.get("db_default"), NextId):
            del kwargs["db_default"]
        if self.primary_key and self.blank:
            del kwargs["blank"]
        return name, path, args, kwargs

    def get_default(self) -> Any:
        """Return None for a key that the database makes, so that a new object's ``pk`` is None until it is inserted.

        Django would put a placeholder there, for which ``bulk_create()`` of 5.2 does not set the keys that it gets back.
        """
        return None if self._is_made_by_database else super().get_default()

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the value to insert: the database's default where there is none."""
        value = super().pre_save(model_instance, add)
        if value is None and add and self._is_made_by_database:
            return DatabaseDefault(self.db_default, output_field=self)
        return value

    @property
    def _is_made_by_database(self) -> bool:
        return bool(self.primary_key and isinstance(self.db_default, NextId))

    def to_python(self, value: Any) -> int | None:
        """Return an id that a form or a fixture gives.

        :raises ValidationError: if it is none.
        """
        if value is None:
            return None
        try:
            return parse_id(value)
        except InvalidIdError as error:
            raise ValidationError(str(error), code="invalid") from error

    def get_prep_value(self, value: Any) -> Any:
        """Return what is sent to the database for a value: expressions as they are.

        :raises InvalidIdError: if it is neither an expression nor an id.
        """
        prepared = models.Field.get_prep_value(self, value)
        return prepared if prepared is None or hasattr(prepared, "resolve_expression") else parse_id(prepared)

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """Return Django's checks of the field, and an error for a database other than PostgreSQL."""
        return [
            *super().check(**kwargs),
            *(
                checks.Error(
                    f"ids are made by PostgreSQL, and {alias!r} is {connections[alias].vendor}",
                    hint="Leave the model's app out of that database by a router, or move it to PostgreSQL.",
                    obj=self,
                    id="shardflake.E001",
                )
                for alias in kwargs.get("databases") or ()
                if connections[alias].vendor != "postgresql"
            ),
        ]
