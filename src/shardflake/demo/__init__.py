"""A store split over four databases, on a throw-away server: what the ids do, shown on real rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Event
from typing import TypeVar

from rich.console import Console

import shardflake
from shardflake.demo import steps, story
from shardflake.demo.interrupts import Interrupts
from shardflake.demo.load import SHARDFLAKE, IdColumn
from shardflake.demo.report import Report, Results
from shardflake.demo.store import Store, open_store
from shardflake.layout import MAX_ID
from shardflake.server import LocalServer

PAGE_LENGTH = 8

Result = TypeVar("Result")


def run(out: Console, progress: Console, size: steps.Size, *, keep: bool = False, column: IdColumn = SHARDFLAKE) -> bool:
    """Run the demo, and return whether it showed what it claims.

    :param out: console of standard output.
    :param progress: console of standard error; silent if it is not a terminal.
    :param size: how much to write.
    :param keep: True leaves the server running at the end, until Ctrl-C.
    :param column: what stands for shardflake in the bulk loads; another one shows that the demo can fail.
    :returns: True if shardflake made no duplicate and Instagram's function made some.
    :raises ConnectionFailedError: if no server can be started.
    :raises KeyboardInterrupt: on Ctrl-C, SIGTERM or SIGHUP, after the server is removed.
    """
    start = time.perf_counter()
    report = Report(out)
    server = None
    with Interrupts() as interrupts:
        try:
            report.opening(shardflake.__version__)
            with _working(progress, "starting PostgreSQL"), interrupts.held_back():
                server = LocalServer()
                server.create().start()
            with open_store(server) as store:
                results = _all_steps(report, progress, store, size, column)
                report.summary(results, time.perf_counter() - start)
                if keep:
                    report.connections(store)
                    with suppress(KeyboardInterrupt):
                        Event().wait()
                return not results.failures
        finally:
            interrupts.over = True  # before anything else: no second Ctrl-C may keep the server from going
            if server is not None:
                server.remove()


def _all_steps(report: Report, progress: Console, store: Store, size: steps.Size, column: IdColumn) -> Results:
    """Take the steps in their order, each told, done and shown."""

    def step(chapter: story.Chapter, do: Callable[[], Result]) -> Result:
        report.step(chapter)
        with _working(progress, chapter.doing):
            return do()

    numbers = step(story.BIGSERIAL, lambda: steps.number_orders(store, size))
    report.numbers(numbers, store)
    instagram = step(story.INSTAGRAM, lambda: steps.load_instagram(store.shards[1], size))
    report.instagram(instagram)
    loaded = step(story.SHARDFLAKE, lambda: steps.load_shardflake(store, size, instagram.rounds, column))
    report.shardflake(loaded, store)
    some_order = steps.read_page(store, MAX_ID, PAGE_LENGTH).orders[-1]
    found = step(story.LOOKUP, lambda: steps.find_order(store, some_order.id))
    report.found(found)
    pages = step(story.FEED, lambda: steps.read_pages(store, 2, PAGE_LENGTH))
    report.pages(pages)
    step(story.EXPLAIN, lambda: None)
    report.explanation(found.order.id)
    indexes = step(story.INDEXES, lambda: [steps.measure_index(store.shards[0], key, size) for key in steps.KEYS])
    report.indexes(indexes)
    return Results(numbers, instagram, loaded, found, pages, indexes)


def _working(progress: Console, message: str) -> AbstractContextManager[object]:
    """Show what is going on, if somebody looks."""
    return progress.status(f"{message} ...") if progress.is_terminal else nullcontext()
