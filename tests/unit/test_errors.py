"""The exception tree and its one map from SQLSTATEs."""

from __future__ import annotations

import re

import shardflake.errors as errors
from shardflake import assets


def test_every_sqlstate_that_the_sql_raises_has_a_class_and_a_hint() -> None:
    raised: set[str] = set()
    for path in sorted(assets.sql_dir().rglob("*.sql")):
        for statement in re.findall(r"raise exception '[^']*'(?:'[^']*'|[^';])*;", path.read_text()):
            codes = re.findall(r"errcode = '(SF\w{3})'", statement)
            assert len(codes) == 1, f"{path.name}: {statement}"
            assert "hint = " in statement, f"{path.name} raises {codes[0]} without a hint"
            raised.update(codes)
    assert raised == set(errors.SQLSTATES)


def test_no_sqlstate_stands_for_a_whole_class() -> None:
    assert not [code for code in errors.SQLSTATES if code.endswith("000")]


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert errors.__doc__ is not None
    drawn = set(re.findall(r"\w+Error", errors.__doc__)) - {"ValueError"}
    defined = {
        name for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, errors.ShardflakeError)
    }
    assert drawn == defined
