"""What the commands of a batch ask for, put together: each thing once, as statements take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stateous.engine.facts import Ask
from stateous.engine.family import Document, ItemKey
from stateous.store.rows import json_text


class Wanted:
    """The union of a batch's asks. `ids` is how many numbers to reserve."""

    def __init__(  # noqa: PLR0913 - all that can be wanted
        self,
        *,
        tokens: Sequence[str] = (),
        new: Sequence[str] = (),
        tasks: Sequence[int] = (),
        keys: Sequence[Document] = (),
        memory_keys: Sequence[Document] = (),
        flows: Sequence[tuple[int, tuple[str, ...]]] = (),
        items: Iterable[ItemKey] = (),
        inbox: Sequence[int] = (),
        ids: int = 0,
    ) -> None:
        # An id that is about to be started may be there already: then its family is wanted.
        self.tokens = sorted(token for token in {*tokens, *new} if can_be_kept(token))
        self.new = sorted(set(new))
        self.tasks = sorted(set(tasks))
        self.keys = list(keys)
        self.memory_keys = list(memory_keys)
        self.flows: list[Document] = [
            {"task": task, "step": step} for task, steps in flows for step in steps or (None,)
        ]
        self.items = sorted(set(items))
        self.inbox = sorted(set(inbox))
        self.ids = ids

    @property
    def families(self) -> dict[str, Any]:
        """The parameters of families_lock and families_read."""
        return {"tokens": self.tokens, "tasks": self.tasks}


def can_be_kept(text: str) -> bool:
    """Whether a database can hold this text at all; what it cannot hold, nothing there is called."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def wanted_by(asks: Sequence[Ask]) -> Wanted:
    """What these asks want together."""
    return Wanted(
        tokens=[ask.token for ask in asks if ask.token is not None],
        new=[ask.new for ask in asks if ask.new is not None],
        tasks=[ask.task for ask in asks if ask.task is not None],
        keys=[
            {"token": ask.token, "task": ask.task, "key": ask.key}
            for ask in asks
            if ask.key is not None and (ask.token is None or can_be_kept(ask.token))
        ],
        memory_keys=[
            {"task": ask.task, "key": ask.memory_key} for ask in asks if ask.memory_key is not None
        ],
        flows=[
            (ask.task, ask.steps) for ask in asks if ask.task is not None and ask.steps is not None
        ],
        items=[key for ask in asks for key in ask.items],
        inbox=[ask.row for ask in asks if ask.row is not None],
        ids=sum(ask.ids for ask in asks),
    )


def key_rows(keys: Iterable[ItemKey]) -> list[Document]:
    """The keys of items as rows."""
    return [
        {"scope": scope, "place": place, "entity": entity, "item": item}
        for scope, place, entity, item in keys
    ]


def rows_text(rows: Sequence[Document]) -> dict[str, Any]:
    """The parameter `:rows` of a statement."""
    return {"rows": json_text(rows)}
