"""Tasks that are given back, over HTTP, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Caller
from tests.api.story import claim, history_of, kinds_of, start

ARGUMENT = (422, "invalid_argument")
BODY = (422, "invalid_body")


async def release(api: Caller, supervisor: str, **body: Any) -> list[int]:
    reply = await api.post("/tasks/release", {"supervisor": supervisor, **body})
    assert reply.status == 200, reply
    assert list(reply.json) == ["released"]
    return reply.json["released"]


async def test_a_task_that_is_given_back_is_given_again_with_a_higher_attempt(api: Caller) -> None:
    await start(api, "T")
    task = (await claim(api, "s"))["task"]
    assert await release(api, "s", tasks=[task]) == [task]
    assert (await history_of(api, "T"))[-1]["data"] == {"task": task, "state": "draft"}
    assert (await kinds_of(api, "T"))[-2:] == ["task_claimed", "task_queued"]
    late = {"kind": "event", "event": "submitted", "attempt": 1}
    again = await claim(api, "other")
    assert (again["task"], again["attempt"]) == (task, 2)
    assert (await api.post(f"/tasks/{task}/report", late)).refusal == (409, "attempt_over")


async def test_only_tasks_that_the_supervisor_has_claimed_go_back_and_each_once(
    api: Caller,
) -> None:
    for token in ("A", "B", "C"):
        await start(api, token)
    mine = [grant["task"] for grant in (await claim(api, "s", max=2))["grants"]]
    other = (await claim(api, "other"))["task"]
    asked = [*reversed(mine), mine[0], other, 2**63 - 1]
    assert await release(api, "s", tasks=asked) == mine
    assert await release(api, "s", tasks=asked) == []
    assert (await kinds_of(api, "C"))[-1] == "task_claimed"


async def test_what_a_request_was_granted_goes_back(api: Caller) -> None:
    for token in ("A", "B", "C"):
        await start(api, token)
    tasks = [grant["task"] for grant in (await claim(api, "s", max=2, request="r"))["grants"]]
    extra = (await claim(api, "s"))["task"]
    assert await release(api, "s", request="r", tasks=[extra]) == [*tasks, extra]
    assert await release(api, "s", request="r", tasks=None) == []


async def test_a_task_of_a_paused_token_goes_back_and_waits_for_the_resume(api: Caller) -> None:
    await start(api, "T")
    task = (await claim(api, "s"))["task"]
    await api.post("/tokens/T/pause")
    assert await release(api, "s", tasks=[task]) == [task]
    assert await claim(api, "s") is None
    await api.post("/tokens/T/resume")
    assert (await claim(api, "s"))["attempt"] == 2


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, ARGUMENT),
        ({"supervisor": ""}, ARGUMENT),
        ({"supervisor": "s\0", "tasks": 1}, ARGUMENT),
        ({"supervisor": "s", "tasks": 1}, BODY),
        ({"supervisor": "s", "tasks": [0], "request": ""}, BODY),
        ({"supervisor": "s", "tasks": [True]}, BODY),
        ({"supervisor": "s", "tasks": list(range(1, 1002))}, ARGUMENT),
        ({"supervisor": "s", "request": "a b"}, ARGUMENT),
        ({"supervisor": "s", "request": "x" * 65}, ARGUMENT),
        ({"supervisor": "s", "request": 1}, ARGUMENT),
    ],
)
async def test_a_release_that_is_not_right_is_refused(
    api: Caller, body: Any, refusal: tuple[int, str]
) -> None:
    assert (await api.post("/tasks/release", body)).refusal == refusal


async def test_a_release_of_nothing_is_nothing(api: Caller) -> None:
    assert await release(api, "s") == []
    assert await release(api, "s", tasks=[], request=None) == []
