"""Django 5 and later: ``ShardflakeField`` is a bigint whose values the database draws. Run ``shardflake db upgrade`` first."""

from __future__ import annotations

from typing import Any

from django.core import checks  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError  # type: ignore[import-untyped]
from django.db import connections, models  # type: ignore[import-untyped]

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id


class NextId(models.Func):  # type: ignore[misc]
    """The expression ``shardflake.next_id()``, for ``db_default``."""

    function = "shardflake.next_id"
    arity = 0
    output_field = models.BigIntegerField()


class ShardflakeField(models.BigIntegerField):  # type: ignore[misc]
    """A bigint that takes its value from ``shardflake.next_id()`` when a row is inserted.

    ``id = ShardflakeField(primary_key=True)``; ``save()`` and ``bulk_create()`` bring the ids back with the rows. A foreign key
    to it is a bigint. Takes an int or its decimal digits; a float or a bool, which would lose digits, raises.
    """

    description = "64-bit, time-ordered id, drawn by the database"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("db_default", NextId())
        super().__init__(*args, **kwargs)

    def check(self, **kwargs: Any) -> list[Any]:
        """Add an error for a database that has no such function."""
        others = [name for name in kwargs.get("databases") or () if connections[name].vendor != "postgresql"]
        return [
            *super().check(**kwargs),
            *(
                checks.Error(
                    f"ShardflakeField needs PostgreSQL, where its ids are made; database {name} is {connections[name].vendor}",
                    hint="Route the model to a PostgreSQL database.",
                    obj=self,
                    id="shardflake.E001",
                )
                for name in others
            ),
        ]

    def get_default(self) -> Any:
        """Return None for a primary key: bulk_create() would take a pending default for a key, and not bring the id back."""
        return None if self.primary_key else super().get_default()

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the value to write: the database's default for a row without a key."""
        value = super().pre_save(model_instance, add)
        return super().get_default() if value is None and add and self.primary_key else value

    def to_python(self, value: Any) -> int | None:
        """Return the id of an int or its decimal digits.

        :raises django.core.exceptions.ValidationError: for anything else.
        """
        if value is None:
            return None
        try:
            return parse_id(value)
        except InvalidIdError as error:
            raise ValidationError(str(error), code="invalid", params={"value": value}) from error

    def get_prep_value(self, value: Any) -> Any:
        """Return what is sent to the server.

        :raises TypeError: for a float or a bool.
        """
        if isinstance(value, float | bool):
            raise TypeError(f"an id is an int or its decimal digits, not {value!r} of type {type(value).__name__}")
        return super().get_prep_value(value)
