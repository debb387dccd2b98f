"""``shardflake id convert``: the same number in other forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer

from shardflake.cli.input import FromOption, IdsArgument, read_ids
from shardflake.cli.output import Format, FormatOption
from shardflake.errors import InvalidIdError
from shardflake.layout import MAX_ID
from shardflake.texts import TextForm, parse, render

_LINES_AT_ONCE = 5000


def convert(
    ids: IdsArgument = None,
    to: Annotated[
        TextForm | None, typer.Option("--to", help="The form to print, a line for each id; all forms without.")
    ] = None,
    from_: FromOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print the number of an id in other forms: decimal, hexadecimal, base 32 that sorts, ULID, UUID."""
    lines = _lines(ids, to, from_, format_)
    if ids:
        lines = iter(list(lines))  # nothing is printed before all arguments are known to be good
    while chunk := list(islice(lines, _LINES_AT_ONCE)):
        typer.echo("\n".join(chunk))


def _lines(ids: list[str] | None, to: TextForm | None, form: TextForm | None, format_: Format) -> Iterator[str]:
    for number, (text, where) in enumerate(read_ids(ids)):
        try:
            _, value = parse(text, form)
            texts = {form: render(value, form) for form in ([to] if to else _forms(value))}
        except InvalidIdError as error:
            raise InvalidIdError(f"{where}{error}") from None
        if format_ is Format.JSON:
            yield json.dumps(texts)
        elif to:
            yield texts[to]
        else:
            if number:
                yield ""
            yield from (f"{form:8} {shown}" for form, shown in texts.items())


def _forms(value: int) -> list[TextForm]:
    """Return the forms that suit a number: a short one is no ULID or UUID, and a long one no base 32 of 13 characters."""
    ours = (TextForm.BASE32,) if value <= MAX_ID else (TextForm.ULID, TextForm.UUID)
    return [TextForm.DECIMAL, TextForm.HEX, *ours]
