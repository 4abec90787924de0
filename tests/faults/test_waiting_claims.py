"""Claims that wait, hang up, take each other's place and are released, all at once: no ready task is left lying."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator

import pytest

from stateous.control import claiming, ticking
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Grant
from stateous.engine.commands import Claim, Fire, Pause, Report, Resume, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal
from stateous.store.postgres.store import PostgresStore
from stateous.store.store import ClaimBatch
from tests.databases import Clock, Database
from tests.engine.graphs import Json, main
from tests.faults.rows import checked
from tests.faults.sides import DEEP, locked, refused, two_sides

TOKENS = 1_000 if DEEP else 80
WORKERS = 12
LONG = 60.0

FOUR_STEPS: Json = main(
    {state: {"emits": ["go"]} for state in "abcd"},
    [
        ("__start__", "a"),
        ("a", "b", "go"),
        ("b", "c", "go"),
        ("c", "d", "go"),
        ("d", "__end__", "go"),
    ],
    events=["go"],
)


@pytest.fixture
async def plane(
    postgres: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Plane]:
    """A control plane that only its own commits tell of ready tasks."""
    monkeypatch.setattr(claiming, "LOOK_EVERY", 3600.0)
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    opened = await open_plane(graph=parse_graph(FOUR_STEPS), db=postgres.url, clock=clock)
    try:
        yield opened
    finally:
        await opened.stop()


class Worker:
    """A supervisor that claims some states, and is unreliable: it hangs up, repeats, and gives back."""

    def __init__(self, plane: Plane, number: int, *, states: str) -> None:
        self.plane = plane
        self.name = f"box-{number}"
        self.states = tuple(states)
        self.dice = random.Random(number)
        self.requests = 0

    async def work(self) -> None:
        while True:
            self.requests += 1
            request = f"r-{self.requests}"
            for grant in await self._claimed(request):
                await self._work_on(grant)

    async def _claimed(self, request: str) -> tuple[Grant, ...]:
        claim = Claim(
            supervisor=self.name,
            states=self.states,
            request=request,
            max=self.dice.choice((1, 1, 3)),
        )
        asking = asyncio.ensure_future(self.plane.claim(claim, wait=LONG))
        try:
            if self.dice.random() < 0.5:
                return (await asking).grants
            await asyncio.wait([asking], timeout=self.dice.choice((0, 0.001, 0.004, 0.02)))
            match self.dice.randrange(3):
                case 0:
                    # Hung up; whatever was granted is given back.
                    asking.cancel()
                    await self.plane.release(self.name, request=request)
                    return ()
                case 1:
                    await self.plane.release(self.name, request=request)
                    assert (await asking).grants == () or asking.done()
                    return ()
                case _:
                    # The same request again: it takes the place of the first, and has what that was granted.
                    again = await self.plane.claim(claim, wait=LONG)
                    return again.grants
        finally:
            asking.cancel()
            await asyncio.wait([asking])

    async def _work_on(self, grant: Grant) -> None:
        report = Report(
            task=grant.task,
            kind="event",
            event="go",
            attempt=grant.attempt,
            supervisor=self.name,
        )
        answer = await refused(self.plane.submit(report))
        assert not isinstance(answer, Refusal) or "paused" in str(answer), answer


async def test_every_token_comes_to_its_end_while_nobody_looks(
    postgres: Database, plane: Plane
) -> None:
    states = ["abcd", "ab", "cd", "da", "b", "dcba"]
    workers = [Worker(plane, n, states=states[n % len(states)]) for n in range(WORKERS)]
    working = [asyncio.create_task(worker.work()) for worker in workers]
    dice = random.Random(1)
    names = [f"T{n}" for n in range(TOKENS)]
    for begin in range(0, TOKENS, 8):
        for name in names[begin : begin + 8]:
            await plane.submit(Start(name, {}))
        name = dice.choice(names[: begin + 8])
        if not isinstance(await refused(plane.submit(Pause(name))), Refusal):
            await plane.submit(Resume(name))
    async with asyncio.timeout(60):
        while len(await plane.tokens(status="completed", limit=1000)) < TOKENS:
            assert not any(each.done() for each in working), [
                each.exception() for each in working if each.done()
            ]
            await asyncio.sleep(0.02)
    for each in working:
        each.cancel()
    await asyncio.wait(working)
    world = await checked(postgres, FOUR_STEPS)
    for name in names:
        assert world.kinds(name).count("task_done") == 4
        assert "task_failed" not in world.kinds(name)


async def test_of_two_who_wait_one_gets_the_one_task(plane: Plane) -> None:
    for round_of in range(50):
        claims = [
            asyncio.ensure_future(
                plane.claim(Claim(supervisor=f"box-{n}", states=("a",)), wait=LONG)
            )
            for n in range(2)
        ]
        await plane.submit(Start(f"T{round_of}", {}))
        done, waiting = await asyncio.wait(claims, return_when=asyncio.FIRST_COMPLETED)
        assert [len(each.result().grants) for each in done] == [1]
        assert len(waiting) == 1
        waiting.pop().cancel()


async def test_a_task_that_is_locked_is_waited_for_beyond_the_tries_of_a_claim_that_does_not_wait(
    postgres: Database, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    decide = PostgresStore.claims_decide

    async def counted(store: PostgresStore, batch: ClaimBatch) -> frozenset[str]:
        looks.append(len(batch.asks))
        return await decide(store, batch)

    monkeypatch.setattr(PostgresStore, "claims_decide", counted)
    await plane.submit(Start("T", {}))
    async with locked(postgres, "tokens", "token", "T"):
        assert (await plane.claim(Claim(supervisor="box", states=("a",)))).grants == ()
        assert looks == [1] * 4
        short = await plane.claim(Claim(supervisor="box", states=("a",)), wait=0.5)
        assert short.grants == ()
        # It looks now and then, and not all the time.
        assert 6 <= len(looks) <= 24
        asking = asyncio.ensure_future(
            plane.claim(Claim(supervisor="box", states=("a",)), wait=LONG)
        )
        # Others that are ready meanwhile are given at once.
        await plane.submit(Start("U", {}))
        assert [grant.token for grant in (await asking).grants] == ["U"]
        asking = asyncio.ensure_future(
            plane.claim(Claim(supervisor="box", states=("a",)), wait=LONG)
        )
        await plane.claim(Claim(supervisor="box", states=("nothing",)))
    assert [grant.token for grant in (await asking).grants] == ["T"]


async def test_of_two_control_planes_sides_one_is_given_the_task(
    postgres: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "LOOK_EVERY", 0.01)
    async with two_sides(postgres, FOUR_STEPS, clock=clock) as both:
        claims = [
            asyncio.ensure_future(
                side.claims.claim(Claim(supervisor=f"box-{n}", states=("a",)), wait=LONG)
            )
            for n, side in enumerate((both.one, both.other))
        ]
        for name in ("T", "U"):
            # Each side hears of its own commits, and looks for those of the other.
            assert not isinstance(await both.one.submit(Start(name, {})), Refusal)
            await asyncio.wait(claims, return_when=asyncio.FIRST_COMPLETED)
        grants = [grant.token for each in claims for grant in (await each).grants]
        assert sorted(grants) == ["T", "U"]
        assert not isinstance(await both.other.submit(Fire("T", "go")), Refusal)
        for side in (both.one, both.other):
            await side.claims.drain()
