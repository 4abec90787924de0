"""An event that arrives in a pause is held: it keeps its place in the order of arrival across its family."""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.family import Held


def hold(draft: Draft, held: Held) -> None:
    """Keep an event that arrived in a pause, with its place in the order of arrival."""
    arrival = draft.token(draft.family.root).held_count + 1
    placed = Held(
        arrival=arrival,
        token=held.token,
        event=held.event,
        payload=held.payload,
        key=held.key,
        task=held.task,
        state=held.state,
        visit=held.visit,
        context=held.context,
        schedules=held.schedules,
    )
    data: dict[str, object] = {"event": held.event, "payload": held.payload, "arrival": arrival}
    if held.task is not None:
        data.update(state=held.state, visit=held.visit, task=held.task)
    if held.context:
        data["context"] = held.context
    if held.schedules:
        data["schedules"] = [
            {"event": s.event, "payload": s.payload, "after": s.after} for s in held.schedules
        ]
    draft.hold(placed)
    draft.record(held.token, "event_deferred", data, held.key)
