"""The life cycles of tokens, tasks and timers: the tables say what their words promise."""

from __future__ import annotations

import pytest

from stateous.engine.lifecycles import (
    ITEM,
    LIVE_TOKEN,
    OPEN_TASK,
    STEP,
    TASK,
    TIMER,
    TOKEN,
    WORKED_TASK,
    IllegalMove,
    Moves,
    check_move,
)

TABLES = {
    "token": (TOKEN, "active"),
    "task": (TASK, "queued"),
    "step": (STEP, "open"),
    "timer": (TIMER, "pending"),
    "item": (ITEM, "none"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_move_leads_to_a_status_of_the_same_table(name: str) -> None:
    table, _ = TABLES[name]
    assert set().union(*table.values()) <= table.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_status_can_be_reached(name: str) -> None:
    table, first = TABLES[name]
    assert reached(table, first) == table.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_move_that_is_not_in_the_table_is_illegal(name: str) -> None:
    table, _ = TABLES[name]
    for was in table:
        for becomes in table:
            if becomes in table[was]:
                check_move(table, was, becomes)
            else:
                with pytest.raises(IllegalMove):
                    check_move(table, was, becomes)


def test_an_ended_token_stays_as_it_ended() -> None:
    assert {status for status in TOKEN if not TOKEN[status]} == TOKEN.keys() - LIVE_TOKEN


def test_a_paused_token_neither_completes_nor_fails() -> None:
    assert TOKEN["paused"] == {"active", "cancelled"}


def test_a_task_that_is_closed_stays_closed_unless_its_held_outcome_was_dropped() -> None:
    closed = TASK.keys() - OPEN_TASK
    assert {status: TASK[status] for status in closed if TASK[status]} == {"done": {"queued"}}


def test_only_what_somebody_works_on_can_be_done_or_fail() -> None:
    for status, moves in TASK.items():
        # A response that came too late can fail a task that is queued again.
        assert ("done" in moves) == (status in WORKED_TASK)
        assert ("failed" in moves) == (status in OPEN_TASK)


def test_a_task_is_only_claimed_from_the_queue() -> None:
    assert [status for status, moves in TASK.items() if "claimed" in moves] == ["queued"]


def reached(table: Moves, first: str) -> set[str]:
    found = {first}
    while True:
        further = found.union(*(table[status] for status in found))
        if further == found:
            return found
        found = further
