"""A row of the inbox is done once, in its turn, and together with what it brings about (docs/sql.md)."""

from __future__ import annotations

from datetime import datetime

from stateous.engine.answers import Answer, Moved, Started
from stateous.engine.commands import FromInbox, Unreadable
from stateous.engine.facts import Facts
from stateous.engine.family import Settled
from stateous.model.refusals import Refusal, Unexpected


def is_in_turn(facts: Facts, command: FromInbox) -> bool:
    """Whether the row is pending, and the row of its token before it is not, or has been settled in this batch."""
    if command.row not in facts.inbox or command.row in facts.settled:
        return False
    before = facts.inbox[command.row]
    return before is None or before in facts.settled


def settle(
    facts: Facts, command: FromInbox, answer: Answer | Refusal | Unreadable, now: datetime
) -> None:
    """Note what became of the row: it is saved with all that the batch changes, or not at all."""
    code = error = None
    if isinstance(answer, Refusal):
        code, error = answer.code, answer.sentence
    elif isinstance(answer, Unreadable):
        code, error = answer.code, answer.error
    facts.settled[command.row] = Settled(
        row=command.row, at=now, duplicate=_is_duplicate(answer), code=code, error=error
    )


def instead_of(command: FromInbox, refusal: Unexpected) -> FromInbox | None:
    """What is done instead of a row that cannot be done: it is refused. None: that is what was tried."""
    if isinstance(command.asked, Unreadable):
        return None
    unreadable = Unreadable(command.token, refusal.code, refusal.sentence)
    return FromInbox(command.row, unreadable)


def _is_duplicate(answer: Answer | Refusal | Unreadable) -> bool:
    match answer:
        case Started(created=created):
            return not created
        case Moved(duplicate=duplicate):
            return duplicate
        case _:
            return False
