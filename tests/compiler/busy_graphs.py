"""Graphs like those that people draw: a main road with shortcuts, loops back, timeouts, failures, and children."""

from __future__ import annotations

import random

from tests.engine.graphs import Json, way

WORDS = [
    *("received", "triage", "classify", "collect_documents", "check_identity", "check_address"),
    *("score_risk", "ask_customer", "wait_for_answer", "draft_offer", "price", "discount_approval"),
    *("legal_review", "security_review", "send_offer", "negotiate", "accepted", "create_account"),
    *("provision", "configure", "migrate_data", "verify_migration", "train_users", "go_live"),
    *("monitor", "first_invoice", "payment", "dunning", "escalate", "manual_work", "rollback"),
    *("archive", "renewal", "survey", "report", "audit", "notify_partner", "close_ticket"),
    *("cleanup", "reopened"),
]
GUARDS = [
    "payload.score >= 80",
    "payload.approved",
    "ctx['amount'] > 10000 and payload.approved",
    "count('reviewed') < 3",
    "ctx['country'] in ['DE', 'AT', 'CH'] and not ctx['urgent'] and payload.score > 20",
    "ctx['tier'] == 'gold' or payload.reason == 'customer asked for it'",
    "payload.kind != 'spam'",
]
SCHEMAS: Json = {
    "Customer": {
        "type": "object",
        "properties": {
            "amount": {"type": "integer"},
            "country": {"type": "string"},
            "urgent": {"type": "boolean"},
            "tier": {"enum": ["gold", "silver"]},
        },
        "required": ["amount", "country", "urgent", "tier"],
    },
    "Outcome": {
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 0, "maximum": 100},
            "approved": {"type": "boolean"},
            "reason": {"type": "string"},
            "kind": {"type": "string"},
        },
        "required": ["score", "approved", "reason", "kind"],
    },
}
CHILDREN = ("credit", "fraud", "references", "sanctions")


def busy_graph(size: int, *, seed: int) -> Json:
    """A graph of `size` states in its main workflow; the same seed gives the same graph."""
    chance = random.Random(seed)
    main = _road(chance, size, running=True)
    children = {name: _road(chance, chance.choice([2, 3, 4]), running=False) for name in CHILDREN}
    return {
        "stateous": 1,
        "workflow": "onboarding",
        **main,
        "workflows": children,
        "schemas": SCHEMAS,
    }


def _road(chance: random.Random, size: int, *, running: bool) -> Json:
    names = [
        WORDS[at % len(WORDS)] + (f"_{at // len(WORDS) + 1}" if at >= len(WORDS) else "")
        for at in range(size)
    ]
    hub = names[-1] if size > 10 else "__end__"
    states: Json = {}
    ways = [way("__start__", names[0])]
    for at, name in enumerate(names):
        after = names[at + 1] if at + 1 < size else "__end__"
        if running and chance.random() < 0.1:
            run = sorted(chance.sample(CHILDREN, chance.choice([1, 2, 2])))
            states[name] = {"parallel": run, "join": chance.choice(["all", "any"])}
            good = "branches.all(status == 'completed')"
            ways += [way(name, after, "joined", good), way(name, hub, "joined")]
            continue
        done = f"{name}_done" if chance.random() < 0.6 else "done"
        states[name] = {"emits": [done], "retries": chance.choice([0, 0, 2, 3])}
        ways += _ways_on(chance, names, at, after, done)
        if chance.random() < 0.25:
            states[name]["timeout"] = chance.choice(["30m", "6h", "2d"])
            ways.append(way(name, chance.choice([after, hub, name]), "timeout"))
        if chance.random() < 0.25 and name != hub:
            ways.append(way(name, hub, "error"))
    events = {each["on"] for each in ways if "on" in each} - {"timeout", "error", "joined"}
    return {
        "context": "Customer",
        "states": states,
        "events": {event: {"payload": "Outcome"} for event in sorted(events)},
        "transitions": ways,
    }


def _ways_on(chance: random.Random, names: list[str], at: int, after: str, done: str) -> list[Json]:
    """On; or by guards further on, back, again, or out; the rest goes on."""
    if chance.random() < 0.55:
        return [way(names[at], after, done)]
    guards = chance.sample(GUARDS, chance.choice([1, 1, 2]))
    ahead, behind = names[at + 2 : at + 6], names[max(0, at - 8) : at]
    places = [chance.choice(place) for place in (ahead, behind, behind, [names[at]]) if place]
    targets = [chance.choice([*places, "__end__"]) for _ in guards]
    ways = [way(names[at], to, done, when) for to, when in zip(targets, guards, strict=True)]
    return [*ways, way(names[at], after, done)]
