"""The table of what becomes of a message, row by row."""

from __future__ import annotations

import pytest

from stateous.client.errors import Again, Unreachable
from stateous.client.messages import MessageKind
from stateous.model.refusals import (
    AttemptOver,
    BadRequest,
    DatabaseBusy,
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    NotServing,
    Refusal,
    TaskNotFound,
    TaskNotHeld,
    Unexpected,
)
from stateous_supervisor.fates import Fate, Result, fate_of
from stateous_supervisor.link import GaveUp

NO = "No."
ABOUT_THE_TASK = [AttemptOver(NO), TaskNotFound(NO), TaskNotHeld(NO)]
ABOUT_THE_MESSAGE = [EventNotAllowed(NO), InvalidContext(NO), InvalidPayload(NO), BadRequest(NO)]
NOT_NOW = [DatabaseBusy(NO), NotServing(NO), Unexpected(NO)]
KINDS: list[MessageKind] = ["report", "note", "memory"]


def fate(kind: MessageKind, result: Result, *, tries: int = 1, is_last: bool = False) -> Fate:
    return fate_of(kind, result, tries=tries, is_last=is_last)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_taken_is_answered(kind: MessageKind) -> None:
    assert fate(kind, None) is Fate.ANSWERED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refusal", ABOUT_THE_TASK, ids=lambda each: each.code)
def test_what_is_not_ours_any_more_is_lost(kind: MessageKind, refusal: Refusal) -> None:
    assert fate(kind, refusal) is Fate.LOST


@pytest.mark.parametrize("refusal", ABOUT_THE_MESSAGE, ids=lambda each: each.code)
def test_a_report_that_is_not_taken_is_a_failed_attempt(refusal: Refusal) -> None:
    assert fate("report", refusal) is Fate.FAILED
    assert fate("note", refusal) is fate("memory", refusal) is Fate.ANSWERED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refusal", NOT_NOW, ids=lambda each: each.code)
def test_what_cannot_be_decided_now_is_sent_later_until_nobody_waits(
    kind: MessageKind, refusal: Refusal
) -> None:
    again = Again(refusal, done=False)
    assert fate(kind, again, tries=1) is Fate.LATER
    assert fate(kind, again, tries=5) is Fate.LATER
    assert fate(kind, again, tries=2, is_last=True) is Fate.KEPT


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_bug_is_not_asked_for_ever(kind: MessageKind) -> None:
    for refusal in (DatabaseBusy(NO), NotServing(NO)):
        assert fate(kind, Again(refusal, done=False), tries=1000) is Fate.LATER
    assert fate(kind, Again(Unreachable(NO), done=True), tries=1000) is Fate.LATER
    bug = fate(kind, Again(Unexpected(NO), done=True), tries=6)
    assert bug is (Fate.FAILED if kind == "report" else Fate.ANSWERED)


@pytest.mark.parametrize("kind", KINDS)
def test_what_nobody_answers_is_kept(kind: MessageKind) -> None:
    assert fate(kind, GaveUp(NO)) is Fate.KEPT
