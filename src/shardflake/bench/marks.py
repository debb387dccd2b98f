"""Put what was measured between the marks of a Markdown page."""

from __future__ import annotations

import re
from pathlib import Path


def put_between(page: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->``, each a line of its own.

    :param text: ends with a newline.
    :raises ValueError: if the page has no such marks.
    """
    old = page.read_text()
    marks = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
    if not marks.search(old):
        raise ValueError(f"{page} has no marks <!-- {name} --> and <!-- /{name} -->")
    page.write_text(marks.sub(lambda _: text, old))
