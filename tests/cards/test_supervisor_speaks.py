"""What a supervisor does with each answer, and with none, to its claims, heartbeats and reports (docs/routines.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stateous import Context
from stateous.client import patience
from stateous_supervisor import heartbeat
from stateous_supervisor.outbox import Outbox
from tests.cards.served import Served
from tests.client import planes
from tests.supervisor.proxy import CUT, LOSE, Proxy, proxying, refuse
from tests.supervisor.running import reviewed, skipped, submitted, supervising

GRAPH = planes.GRAPH
CLAIM, BEAT, MESSAGES = "/tasks/claim", "/tasks/heartbeat", "/tasks/messages"
Routine = Callable[[Any], Awaitable[object]]

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are a hundredth of what they are."""
    monkeypatch.setattr(patience, "WAITS", tuple(wait / 100 for wait in patience.WAITS))


@pytest.fixture
async def proxy(served: Served) -> AsyncGenerator[Proxy]:
    async with proxying(f"http://{served.api.host}:{served.api.port}") as made:
        yield made


@pytest.fixture
def go() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def draft(go: asyncio.Event) -> Routine:
    """A routine that submits when `go` is set."""

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    return draft


async def started(served: Served, token: str = "A") -> int:
    """Start a token; its task."""
    await served.start(token)
    return await served.task(token)


def kept_in(folder: Path) -> list[str]:
    with Outbox(folder) as outbox:
        return [message.kind for message in outbox.left]


class TestClaim:
    async def test_a_claim_without_an_answer_is_sent_again_with_the_same_request(
        self, served: Served, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        proxy.then(CLAIM, CUT, CUT)
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says(f"cannot reach the control plane at {proxy.url}")
            await box.says("trying again in 0.02s")
            await box.says(f"task {task}: draft of A, attempt 1")
        requests = [body["request"] for body in proxy.bodies(CLAIM)]
        assert len(set(requests[:3])) == 1

    async def test_a_refused_claim_is_said(
        self, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        proxy.always(CLAIM, refuse(422, "invalid_argument"))
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("the control plane refused a claim: No.")


class TestHeartbeat:
    @pytest.fixture(autouse=True)
    def often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A heartbeat comes each twentieth of a second."""
        monkeypatch.setattr(heartbeat, "BEATS", 2400)

    async def test_it_moves_the_leases_of_what_runs(
        self, served: Served, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says(f"task {task}: draft of A")
            for _ in range(3):
                served.clock.forward(seconds=100)
                await proxy.passes(BEAT, times=len(proxy.bodies(BEAT)) + 2)
            await served.pass_by(seconds=100)
        assert proxy.bodies(BEAT)[0] == {"supervisor": "box", "tasks": [task]}
        assert "task_failed" not in [kind for kind, _ in await served.news("A")]

    async def test_a_lost_task_is_taken_back(
        self, served: Served, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says(f"task {task}: draft of A")
            await served.steer("A", "cancel")
            await box.says(
                f"task {task} of A: the control plane took it back; cancelling its routine"
            )
        assert not [line for line in box.lines.said if "reported" in line]
        assert kept_in(tmp_path) == []

    async def test_a_refused_heartbeat_is_said(
        self, served: Served, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        proxy.always(BEAT, refuse(422, "invalid_argument"))
        await served.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("the control plane refused a heartbeat: No.")

    async def test_one_without_an_answer_is_sent_again_and_an_ended_lease_is_a_lost_task(
        self, served: Served, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        proxy.always(BEAT, CUT)
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=1) as box:
            await box.says(f"task {task}: draft of A, attempt 1")
            await box.says("trying again")
            await served.pass_by(minutes=3)
            proxy.always(BEAT, None)
            await box.says(
                f"task {task} of A: the control plane took it back; cancelling its routine"
            )
            await box.says(f"task {task}: draft of A, attempt 2")


class TestReport:
    @pytest.mark.parametrize(
        ("outcome", "code"),
        [
            (skipped, "event_not_allowed"),
            (reviewed({"approved": "perhaps"}), "invalid_payload"),
            (None, "invalid_context"),
        ],
        ids=["event_not_allowed", "invalid_payload", "invalid_context"],
    )
    async def test_a_report_that_is_not_taken_is_a_failed_attempt(
        self, served: Served, proxy: Proxy, tmp_path: Path, outcome: object, code: str
    ) -> None:
        async def draft(_ctx: Context) -> object:
            return submitted

        async def review(ctx: Context) -> object:
            if code == "invalid_context":
                ctx["title"] = 7
            return outcome

        await served.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": draft, "review": review}) as box:
            refused = await box.says("of A: the control plane refused the report: ")
            why = refused.partition("of A: ")[2]
            await box.says(f"of A: reported failed: {why}")
        news = await served.news("A")
        assert ("task_failed", {"task": await served.task("A"), "error": why}) in news
        rejected = [kind for kind, _ in news if kind == "event_rejected"]
        assert rejected == (["event_rejected"] if code == "event_not_allowed" else [])
        assert await served.status("A") == "failed"
        assert kept_in(tmp_path) == []

    async def test_an_attempt_that_is_over_is_dropped_and_the_new_one_untouched(
        self, served: Served, proxy: Proxy, draft: Routine, go: asyncio.Event, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=1) as box:
            await box.says(f"task {task}: draft of A, attempt 1")
            await served.pass_by(minutes=3)
            assert (await served.claim("draft", by="other"))["attempt"] == 2
            go.set()
            await box.says(f"task {task} of A: the control plane refused the report: ")
            await proxy.passes(CLAIM, times=2)
        assert proxy.bodies(BEAT) == []
        assert await served.beat(task, by="other") == []
        assert kept_in(tmp_path) == []

    async def test_a_task_that_is_not_held_is_asked_for_once_and_its_report_dropped(
        self, served: Served, proxy: Proxy, draft: Routine, go: asyncio.Event, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=1) as box:
            await box.says(f"task {task}: draft of A, attempt 1")
            await served.pass_by(minutes=3)
            proxy.always(CLAIM, CUT)
            go.set()
            await box.says(f"task {task} of A: the control plane refused the report: ")
            await box.says("trying again")
        assert proxy.bodies(BEAT) == [{"supervisor": "box", "tasks": [task]}]
        assert len(proxy.bodies(MESSAGES)) == 1
        assert kept_in(tmp_path) == []
        assert [kind for kind, _ in await served.news("A")][-1] == "task_retrying"

    async def test_a_report_of_a_task_that_there_is_not_is_dropped(
        self, proxy: Proxy, draft: Routine, tmp_path: Path
    ) -> None:
        body = b'{"kind": "event", "event": "submitted", "attempt": 1, "supervisor": "box"}'
        with Outbox(tmp_path) as outbox:
            outbox.put(task=999, token="A", kind="report", body=body)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("task 999 of A: the control plane refused the report: ")
            await proxy.passes(CLAIM)
        assert len(proxy.bodies(MESSAGES)) == 1
        assert kept_in(tmp_path) == []

    async def test_a_report_without_an_answer_stays_until_it_has_one(
        self, served: Served, proxy: Proxy, draft: Routine, go: asyncio.Event, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says(f"task {task}: draft of A, attempt 1")
            proxy.then(MESSAGES, CUT, LOSE, LOSE)
            go.set()
            await box.says("trying again in 0.01s")
            await box.says("trying again in 0.02s")
            await box.says(f"task {task} of A: reported submitted")
        assert await served.state("A") == ("review", 1)
        assert [kind for kind, _ in await served.news("A")].count("task_done") == 1

    async def test_a_report_without_an_answer_at_a_stop_stays_for_the_next_start(
        self, served: Served, proxy: Proxy, draft: Routine, go: asyncio.Event, tmp_path: Path
    ) -> None:
        task = await started(served)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says(f"task {task}: draft of A, attempt 1")
            proxy.always(MESSAGES, CUT)
            box.stop.ask()
            go.set()
            await box.says(
                f"task {task} of A: the control plane cannot be reached; "
                "the report stays in the outbox for the next start"
            )
            assert await box.exit_code() == 0
        assert kept_in(tmp_path) == ["report"]
        proxy.always(MESSAGES, None)
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("sending 1 message(s) left in the outbox")
            await box.says(f"task {task} of A: reported submitted")
        assert await served.state("A") == ("review", 1)
