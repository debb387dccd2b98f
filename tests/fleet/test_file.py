"""shards.toml: what it means, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shardflake.errors import FleetFileError
from shardflake.fleet.file import Fleet, numbers, parse, ranges, read

GOOD = """\
registry = "service=registry"

[[shard]]
name = "orders-0"
url = "postgresql://app@db0:5433/orders"
shard_id = 0
logical_shards = [100, "200-203"]
tags = ["eu", "busy"]

[[shard]]
name = "orders-1"
service = "orders1"
shard_id = "env:POD_INDEX"

[[shard]]
name = "orders-2"
url = "env:ORDERS_2"
logical_shards = ["300-301"]
"""
ENVIRONMENT = {"POD_INDEX": "orders-7", "ORDERS_2": "postgresql+psycopg://app:secret@db2/orders", "EMPTY": ""}


def test_it_says_where_the_shards_are() -> None:
    fleet = parse(GOOD, environment=ENVIRONMENT)
    first, second, third = fleet.shards
    assert (first.name, first.shard_id, first.logical_shards) == ("orders-0", 0, (100, 200, 201, 202, 203))
    assert {"user=app", "host=db0", "port=5433", "dbname=orders"} < set(first.conninfo.split())
    assert (second.shard_id, "service=orders1" in second.conninfo) == (7, True)
    assert (third.shard_id, third.logical_shards) == (300, (301,))
    assert fleet.registry is not None
    assert fleet.warnings == ()
    assert "secret" not in repr(fleet)
    assert [shard.name for shard in fleet.tagged("eu").shards] == ["orders-0"]
    assert fleet["orders-2"] is third


def test_a_password_in_the_file_is_warned_of_and_not_shown() -> None:
    fleet = parse('[[shard]]\nname = "a"\nurl = "postgresql://app:hush@db/orders"\n')
    (warning,) = fleet.warnings
    assert warning.startswith("shards.toml:3: the URL holds a password")
    assert "hush" not in warning + repr(fleet)


def shard(body: str) -> str:
    return f'[[shard]]\nname = "b"\nurl = "host=b"\n\n[[shard]]\nname = "a"\nurl = "host=a"\n{body}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[shard]\n", "shards.toml is not TOML: "),
        ("a = " + "[" * 5000, "shards.toml is not TOML: "),
        ("a = " + "1" * 5000, "shards.toml is not TOML: "),
        ("", "shards.toml:1: no shards"),
        ("shard = 3", "shards.toml:1: no shards"),
        ("\ncolour = 3\n[[shard]]\nname='a'\nurl='host=a'", "shards.toml:2: unknown key 'colour'"),
        (shard("shard_id = 8192"), "shards.toml:8: shard id 8192 is not an integer from 0 to 8191"),
        (shard("shard_id = -1"), "shards.toml:8: shard id -1 is not"),
        (shard("shard_id = true"), "shards.toml:8: shard id True is not"),
        (shard("shard_id = 1.0"), "shards.toml:8: shard id 1.0 is not"),
        (shard("shard_id = 0x" + "f" * 5000), "shards.toml:8: shard id with too many digits is not"),
        (shard('shard_id = "env:NONE"'), "shards.toml:8: 'env:NONE': the environment has no such variable"),
        (shard('shard_id = "env:EMPTY"'), "shards.toml:8: 'env:EMPTY'"),
        (shard('shard_id = "env:ORDERS_2"'), "from 'env:ORDERS_2' is not an integer"),
        (shard('logical_shards = ["9-7"]'), "shards.toml:8: logical_shards: '9-7' is not"),
        (shard("logical_shards = 7"), "shards.toml:8: logical_shards: 7 is not a list"),
        (shard("\n\ntags = 'eu'"), "shards.toml:10: tags 'eu' is not a list"),
        (shard("port = 5"), "shards.toml:8: unknown key 'port'"),
        (shard('service = "x"'), "shards.toml:7: a shard needs one of url and service"),
        ('[[shard]]\nname = "a"', "shards.toml:1: a shard needs one of url and service"),
        ('[[shard]]\nurl = "host=a"', "shards.toml:1: a shard has no name"),
        ('[[shard]]\nname = "a b"\nurl = "host=a"', "shards.toml:2: name 'a b' is not a name"),
        ('[[shard]]\nname = "a"\nurl = "nothing"', "shards.toml:3: the database URL cannot be read"),
        (shard("").replace('"b"', '"a"'), "shards.toml:6: name 'a' is also that of line 1"),
        (shard("shard_id = 5").replace("host=b", 'host=b"\nshard_id = 5\n#"'), "shard id 5 of 'a' is also that of 'b'"),
        (
            shard("shard_id = 5\nlogical_shards=[6]").replace("host=b", 'host=b"\nshard_id = 6\n#"'),
            "shards.toml:11: shard id 6",
        ),
        ('[[shard]]\nname = """\n[[shard]]\n"""\nurl = "host=a"\n', "shards.toml:2: name"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(FleetFileError) as caught:
        parse(text, environment=ENVIRONMENT)
    assert expected in str(caught.value)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(FleetFileError) as caught:
        parse(shard("shard_id = 9000\ntags = 1"))
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == ["shards.toml:8", "shards.toml:9"]


def test_a_missing_file_a_directory_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "bytes", Path("nul\0byte")):
        with pytest.raises(FleetFileError, match="cannot read"):
            read(path)


@pytest.mark.parametrize("name", ["orders-9", "", "eu"])
def test_an_unknown_name_or_tag_is_refused(name: str) -> None:
    fleet = parse(GOOD, environment=ENVIRONMENT)
    with pytest.raises(FleetFileError, match="no shard is named"):
        fleet[name]
    with pytest.raises(FleetFileError, match="no shard has the tag"):
        fleet.tagged(name + "x")


@given(st.lists(st.integers(0, 8191), max_size=30))
def test_ranges_and_numbers_are_inverse(values: list[int]) -> None:
    ordered = sorted(set(values))
    assert numbers(list(ranges(ordered))) == ordered


SCALARS = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["env:POD_INDEX", "env:", "env:\0", "host=a"]),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
ENTRIES = st.dictionaries(
    st.sampled_from(["name", "url", "service", "shard_id", "logical_shards", "tags", "x"]), VALUES, max_size=6
)


def written(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    return str(value)


@given(st.lists(ENTRIES, max_size=4))
def test_no_document_raises_anything_but_our_error(entries: list[dict[str, object]]) -> None:
    text = "".join("[[shard]]\n" + "".join(f"{key} = {written(value)}\n" for key, value in entry.items()) for entry in entries)
    _only_our_error(text)


@given(st.text(st.sampled_from("[]shard =\"'\n\\#-.0123456789ewxyz{},:tu\r\0é"), max_size=60))
@example('[[shard]]\nname = "a"\nurl = "host=a"\nshard_id = 0xffff_ffff')
@example("[shard]\nname = 1")
@example("shard = [{name = 'a', url = 'port=99999'}, 7]")
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    _only_our_error(text)


def _only_our_error(text: str) -> None:
    try:
        fleet = parse(text, environment=ENVIRONMENT)
    except FleetFileError:
        return
    assert isinstance(fleet, Fleet)
    ids = [number for shard in fleet.shards for number in (shard.shard_id, *shard.logical_shards) if number is not None]
    assert len(ids) == len(set(ids))
    assert len({shard.name for shard in fleet.shards}) == len(fleet.shards) > 0
