"""The steps that tests tell their stories with; each fails when the server says no."""

from __future__ import annotations

from typing import Any

from tests.api.caller import Caller


async def start(api: Caller, token: str, **context: Any) -> dict[str, Any]:
    """Start a token with the title `a`."""
    reply = await api.post("/tokens", {"token": token, "context": {"title": "a", **context}})
    assert reply.status == 201, reply
    return reply.json


async def fire(
    api: Caller, token: str, event: str, payload: dict[str, Any] | None = None
) -> dict[str, Any]:
    reply = await api.post(f"/tokens/{token}/events/{event}", {"payload": payload})
    assert reply.status == 200, reply
    return reply.json


async def claim(api: Caller, supervisor: str, *states: str, **more: Any) -> Any:
    """The grant, None when there is no task; of every state when none is named."""
    asked = states or ("draft", "review", "check/look")
    body = {"supervisor": supervisor, "states": asked, **more}
    reply = await api.post("/tasks/claim", body)
    assert reply.status in {200, 204}, reply
    return reply.json if reply.status == 200 else None


async def report(
    api: Caller, grant: dict[str, Any], event: str, payload: dict[str, Any] | None = None
) -> dict[str, Any]:
    body = {"kind": "event", "event": event, "payload": payload, "attempt": grant["attempt"]}
    reply = await api.post(f"/tasks/{grant['task']}/report", body)
    assert reply.status == 200, reply
    return reply.json


async def history_of(api: Caller, token: str) -> list[dict[str, Any]]:
    reply = await api.get(f"/tokens/{token}/history")
    assert reply.status == 200, reply
    return reply.json


async def kinds_of(api: Caller, token: str) -> list[str]:
    return [entry["kind"] for entry in await history_of(api, token)]
