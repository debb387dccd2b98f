"""Adapters to other libraries, a module each, imported by name: ``from shardflake.adapters.pydantic import Id``.

Each needs the extra of its name, and no adapter imports another. All speak alike: ``int`` in Python, decimal digits in JSON,
where a number above 2**53 would be rounded; an int is taken back too.
"""
