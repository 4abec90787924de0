"""The claim lane: claims that arrive together are granted in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from stateous.control.gathering import Gatherer
from stateous.engine.answers import Granted
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Claim
from stateous.engine.rules import Rules
from stateous.model.refusals import DatabaseBusy, Refusal, Unexpected
from stateous.store.store import NotCommitted, OutcomeUnknown, Store

REST_AFTER_ROLLBACK = 0.01
LONGEST_REST = 1.0
DEADLINE_FOR = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Asked = tuple[Claim, float]
"""A claim, and the loop's time after which it is not tried again."""


class ClaimLane:
    """Grants tasks. `left` is told, after each batch, in which of the asked queues ready tasks were left."""

    def __init__(
        self, store: Store, rules: Rules, *, left: Callable[[frozenset[str]], None]
    ) -> None:
        self._store = store
        self._rules = rules
        self._left = left
        self._gatherer: Gatherer[Asked, tuple[Granted, bool]] = Gatherer(self._handle)

    async def look(self, claim: Claim) -> tuple[Granted, bool]:
        """What the claim got; empty if no task is ready, or if those that are ready are locked: then True.

        Raises DatabaseBusy, NotServing, Unexpected. A claim that is cancelled before its batch is granted nothing.
        """
        deadline = asyncio.get_running_loop().time() + DEADLINE_FOR
        granted, is_short = await self._gatherer.submit((claim, deadline))
        return granted, is_short and not granted.grants

    async def settle(self) -> None:
        """Wait until the claims that came in so far have been decided, those too that nobody waits for any more."""
        await self._gatherer.settle()

    async def drain(self) -> None:
        """Wait until every claim in flight has been answered."""
        await self._gatherer.drain()

    async def _handle(self, asked: Sequence[Asked]) -> Sequence[tuple[Granted, bool] | Exception]:
        claims = [claim for claim, _ in asked]
        # Whoever came while others were tried in vain has waited already.
        until = min(deadline for _, deadline in asked)
        rest = REST_AFTER_ROLLBACK
        while True:
            batch = ClaimBatch(self._rules, claims)
            try:
                left = await self._store.claims_decide(batch)
            except NotCommitted as fault:
                log.warning("claims.not_committed", claims=len(claims), reason=str(fault))
                if asyncio.get_running_loop().time() >= until:
                    msg = "the database did not get to the claim in time: try again"
                    return [DatabaseBusy(msg)] * len(claims)
                await asyncio.sleep(rest)
                rest = min(rest * 2, LONGEST_REST)
                continue
            except OutcomeUnknown as fault:
                log.exception("claims.outcome_unknown", claims=len(claims), reason=str(fault))
                unknown = Unexpected(
                    "whether the claim was granted cannot be told: repeat its request"
                )
                return [unknown] * len(claims)
            for fault in batch.faults:
                log.error("claim.failed", exc_info=fault)
            if left:
                self._left(left)
            return [
                answer
                if isinstance(answer, Refusal)
                else (answer, not left.isdisjoint(claim.states))
                for claim, answer in zip(claims, batch.answers, strict=True)
            ]
