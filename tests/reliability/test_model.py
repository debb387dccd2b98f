"""The model keeps every promise, each changed generator breaks the one that it should, and the page shows how."""

from __future__ import annotations

import pytest

from tests.reliability.model.cases import ALL, LIMITS, MAIN, MUTANTS, SOUND, SPARE, Case
from tests.reliability.model.explorer import Result
from tests.reliability.model.page import PAGE, page

# no server in it; everything is explored once, by one process
pytestmark = [pytest.mark.once, pytest.mark.xdist_group("model")]


@pytest.fixture(scope="session")
def results() -> dict[Case, Result]:
    """Everything explored, once."""
    return {case: case.run() for case in (MAIN, *SOUND, *MUTANTS, *LIMITS, *SPARE)}


def named(cases: tuple[Case, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def test_the_generator_keeps_its_promises_in_every_state(results: dict[Case, Result]) -> None:
    assert results[MAIN].trace == ()
    assert results[MAIN].states > 100_000


@named(SOUND)
def test_it_keeps_them_in_other_worlds(results: dict[Case, Result], case: Case) -> None:
    assert results[case].trace == ()
    assert results[case].states > 10_000


@named(MUTANTS + LIMITS)
def test_a_changed_generator_breaks_the_promise(results: dict[Case, Result], case: Case) -> None:
    assert results[case].broken == case.broken
    assert results[case].trace


@named(MUTANTS)
def test_the_rules_in_force_hold_where_the_changed_one_broke(case: Case) -> None:
    """The change is what breaks it, not the scenario."""
    sizes = {name: value for name, value in case.changes.items() if name == "capacity"}
    assert Case(case.name, case.text, case.scenario, "", sizes).run().trace == ()


@named(MUTANTS + LIMITS)
def test_the_watch_over_the_generator_in_force_sees_it_too(case: Case) -> None:
    """The sound worlds are watched for all promises at once, and for duplicates by way of the order."""
    assert case.run(ALL).broken


@named(SPARE)
def test_nothing_breaks_without_a_part_that_others_cover(results: dict[Case, Result], case: Case) -> None:
    assert results[case].trace == ()


def test_the_page_shows_what_was_found(results: dict[Case, Result]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(results), "run: python -m tests.reliability.model"
