"""Writes docs/guarantees-model.md from the explorations, so that every trace on it is one that the explorer found."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.reliability.model.cases import LIMITS, MAIN, MUTANTS, SOUND, SPARE, Case
from tests.reliability.model.explorer import Result
from tests.reliability.model.state import START, Protocol

PAGE = Path(__file__).parents[3] / "docs" / "guarantees-model.md"

_PROMISES = {
    "unique": "an id is returned twice",
    "ordered": "an id is smaller than one that was drawn before it",
    "well-formed": "a counter does not fit its field",
    "durable": "an id is returned whose tick is above the durable mark",
    "unlocked": "the lock is left behind",
    "answered": "a call is refused for no documented reason",
}

_INTRODUCTION = """\
<!-- Written by: python -m tests.reliability.model. Do not edit; tests/reliability/test_model.py compares it. -->

# The protocol, checked in a model

[Why it holds](guarantees.md) argues that ids are unique and ascend. This page is the same argument made by a machine:
the generator as a small state machine, put through every order of its steps with everything that can come in between.
It holds there, and whichever part is taken out, there is a way to break a promise. The shortest such ways are printed
below.

The model is in `tests/reliability/model/`: `generator.py` has the steps of `_draw()`, `_open_window()` and
`confirm_identity()`, `world.py` what interrupts them, `explorer.py` the search, `cases.py` what is searched. `python -m
tests.reliability.model` runs all of it and writes this page; the test suite does the same and compares.

## What is modelled

- **Sessions**: two or three, with a few calls each. A step is what PostgreSQL does at once: one `nextval()`, one
  reading of the clock, one `setval()`, one attempt at the lock. Between two steps of one session the others take any
  number of theirs.
- **The clock** ticks and is set back, at any moment.
- **Crashes**: the unlogged sequences are what they were at first; the mark is the durable one, or any value since, as
  WAL may have been written unasked; the sessions are gone. Ids that a call returned stay in the hands of clients.
- **Cancels**, at any step: the transaction ends and gives back its lock; sequences keep their values.
- **Clean restarts, copies** by CREATE DATABASE … TEMPLATE that go on with the same shard id, **ALTER SEQUENCE**, which
  makes the present value the one after a crash, **failovers** of a platform that brings back the unlogged sequences in
  an old state, and **confirm_identity()** beside other sessions.

The promises, looked at after every step: no id is returned twice; an id is larger than all that were drawn before it;
its counter fits; its tick is not above the durable mark when it is returned; no lock is held when no session is inside;
a call is refused only if the database is a copy or altered (SF002), or the clock was set back or the server restarted
and the clock has not caught up (SF005).

## What is not

- Numbers are tiny, so that all states can be seen (table below). What depends on their size, as opposed to which is
  larger, is not covered: that is what the [attacks](guarantees.md#the-attacks) on real servers are for.
- PostgreSQL itself: that `nextval()` is atomic, that WAL is replayed in order, that a lock goes with its
  subtransaction.
- Streaming standbys, dumps, `assign_shard()`, the system identifier, logical shards, sequences moved by hand.
- Waiting fairly: a session may wait for the lock as long as the others have calls to make.
- Two assumptions, which [the last traces](#what-it-rests-on) drop.
"""

_NUMBERS = """
## Numbers

| in the model | in SQL | value here | value there |
|---|---|---|---|
| `capacity` | ids of a window | 2 (3 or 4 where said) | 1,024 |
| `void` | values of a window's millisecond that are no ids | 1 that stands for all | 8,387,584 |
| `BEHIND`, `AHEAD` | what the fast path takes | 1, 1 | 8 ms, 119 ms |
| `BEHIND_FRESH` | how old a draw beside an opening may be | 2 | 20 ms |
| `LEAST_LIMIT` | what `max_lead = 0` allows | 1 | 127 ms |
| `max_lead` | how far ids may lead a clock that was set back | 12 | 10 s |
| `reserve` | how far a window raises the mark | 2 | 3,000 ms |
| `margin` | how near to the mark a window may come | 1 | 1,000 ms |
| `jump` | extra distance after a restart | 2 | 1,000 ms |
"""

_READING = """
## How to read a trace

{}

## Without a part
"""

_TRACE = (
    "A, B are sessions, `*` is the world. `4.1` is the draw at tick 4 with counter 1; `4.2` is void, as a window has two ids "
    "unless a number is given. `:=` is a `setval()`. A trace ends with the step that breaks the promise, and no shorter one "
    "breaks it. It starts at clock {clock}, with one window open that is used up (`_window` {clock}.{counter}, `_opened` "
    "{clock}, `_high_water` {mark}), or, where it says so, with a shard that has never made an id (all of them 0)."
)

_LIMITS = """
## What it rests on

Two things are assumed, because the generator does not look at them on its fast path. These traces drop the assumption.
"""

_SPARE = """
## What it could do without

In this model, each of these can be left out alone and nothing breaks. They stay: each covers what the model leaves out,
or one of the others.

| part | why nothing breaks | states |
|---|---|---|
"""


def page(results: dict[Case, Result]) -> str:
    """Return the page.

    :param results: of every case.
    """
    parts = [_INTRODUCTION, _NUMBERS, "\n## Where it holds\n\n| | | states |\n|---|---|---|\n"]
    parts += [_row(case, results[case]) for case in (MAIN, *SOUND)]
    total = sum(results[case].states for case in (MAIN, *SOUND))
    seen = f"Every state within those bounds was seen, {total:,} in all, and no promise was broken. States that differ by the "
    seen += "names of the sessions, or of which one has more still to come, count once."
    parts += [f"\n{_wrap(seen)}\n", _READING.format(_wrap(_trace_reading()))]
    parts += [_section(case, results[case]) for case in MUTANTS]
    parts += [_LIMITS, *(_section(case, results[case]) for case in LIMITS)]
    parts += [_SPARE, *(_row(case, results[case]) for case in SPARE)]
    return "".join(parts)


def _row(case: Case, result: Result) -> str:
    return f"| {case.name} | {case.text} | {result.states:,} |\n"


def _wrap(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _trace_reading() -> str:
    rule = Protocol()
    return _TRACE.format(clock=START, counter=rule.capacity - 1, mark=START + rule.reserve)


def _section(case: Case, result: Result) -> str:
    capacity = case.changes.get("capacity")
    fresh = "" if case.scenario.running else " From a shard that has never made an id."
    wide = f" A window has {capacity} ids." if capacity else ""
    text = _wrap(f"{case.text}{wide}{fresh} In the end, {_PROMISES[result.broken]}.")
    lines = "".join(f"    {event.actor or '*'}  {event.text}\n" for event in result.trace)
    return f"\n### {_title(case.name)}\n\n{text}\n\n{lines}"


def _title(name: str) -> str:
    return name[0].upper() + name[1:]
