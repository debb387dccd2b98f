"""Ids at the edges of a program: ``int`` inside, the decimal digits as text in JSON, which JavaScript can read.

A module for each library, none imported by another or by the package: :mod:`.pydantic` (which FastAPI uses as well),
:mod:`.sqlmodel`, :mod:`.msgspec`, :mod:`.marshmallow`, :mod:`.django`.
"""

DIGITS = r"^(0|[1-9][0-9]{0,18})$"
"""What schemas say of an id's text: digits without sign or leading zeros; that the largest is 2**63 - 1 is checked apart."""
