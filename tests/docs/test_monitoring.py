"""docs/fleet-monitoring.md: refusals are counted in the server's log as it says."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from shardflake import install
from shardflake.connect import make_engine
from shardflake.server import LocalServer

PAGE = (Path(__file__).parents[2] / "docs" / "fleet-monitoring.md").read_text()


def test_a_refusal_is_a_line_in_the_log_that_the_expression_finds() -> None:
    (prefix,) = re.findall(r"`log_line_prefix = '(.*?)'`", PAGE)
    (expression,) = re.findall(r"the lines that match\n`(.*?)`", PAGE)
    with LocalServer(settings={"fsync": "off", "log_line_prefix": prefix, "log_min_messages": "error"}) as server:
        install.upgrade(make_engine(server.url()))
        with psycopg.connect(server.url(), autocommit=True) as connection:
            for wrong in ("select 1 / 0", "select 'SF001 ERROR:'::integer"):
                with pytest.raises(psycopg.Error):
                    connection.execute(wrong.encode())
            assert re.findall(expression, server.log.read_text()) == []
            with pytest.raises(psycopg.Error, match="has no shard id yet"):
                connection.execute("select shardflake.next_id()")
        assert len(re.findall(expression, server.log.read_text())) == 1
