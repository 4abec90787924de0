"""Claims and heartbeats that the database does not get to: refused in time, and never called lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from stateous.control import claims, heartbeats
from stateous.control.claims import ClaimLane
from stateous.control.heartbeats import HeartbeatLane
from stateous.engine.commands import Beat, Claim
from stateous.model.refusals import DatabaseBusy
from stateous.store.store import NotCommitted, Store
from tests.engine.graphs import ORDERS
from tests.engine.world import World


class BusyStore:
    """Commits nothing."""

    async def claims_decide(self, *_: Any) -> bool:
        raise NotCommitted("a lock timeout", alone=False)

    async def tasks_beat(self, *_: Any, **__: Any) -> Any:
        raise NotCommitted("a lock timeout", alone=False)


async def test_a_claim_is_refused_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "DEADLINE_FOR", 0.05)
    lane = ClaimLane(cast("Store", BusyStore()), World(ORDERS).rules, left=lambda _: None)
    with pytest.raises(DatabaseBusy):
        await lane.look(Claim(supervisor="box", states=("draft",)))


async def test_a_heartbeat_is_refused_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "DEADLINE_FOR", 0.05)
    lane = HeartbeatLane(
        cast("Store", BusyStore()),
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        lease_for=timedelta(seconds=120),
    )
    with pytest.raises(DatabaseBusy):
        await lane.beat(Beat("box", (1,)))
    assert await lane.beat(Beat("box", ())) == ()
