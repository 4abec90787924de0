"""How a test comes by a claimed task, and reports of it."""

from __future__ import annotations

from typing import Any

from tests.api.caller import Reply
from tests.cards.served import Served


async def claimed_task(served: Served, *, events: tuple[str, ...] = (), **context: Any) -> int:
    """The claimed task of a token `T`, whose ledger is read up to here."""
    await served.start("T", **context)
    for event in events:
        await served.fire("T", event)
    task = (await served.claim())["task"]
    await served.read_up("T")
    return task


async def report(served: Served, task: int, kind: str = "event", **fields: Any) -> Reply:
    return await served.post(f"/tasks/{task}/report", {"kind": kind, **fields})
