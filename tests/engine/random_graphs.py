"""Graph files by chance: states, events, guards, retries, timeouts, parallel and nested states."""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.chance import Chance, happens, some
from tests.engine.graphs import Json, way

EVENTS: Json = {"e0": {}, "e1": {"payload": "P"}, "e2": {}}
STATE_LOGS: tuple[Json, ...] = (
    {},
    {"state_log": {}},
    {"state_log": {"scope": "app", "options": {"lock": "1h", "retention": "2h"}}},
    {"state_log": {"scope": "execution", "options": {"retention": "1h"}}},
)
SCHEMAS: Json = {
    "P": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "C": {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "maximum": 5, "default": 0},
            "b": {"type": ["boolean", "null"]},
        },
    },
    "Needy": {"type": "object", "required": ["b"]},
}
CHILDREN = ("c0", "c1", "c2", "c3")

OF_CONTEXT = ("ctx['a'] == 1", "ctx['a'] > 2", "ctx['b']", "not ctx['b']", "true")
OF_EVENTS = (*OF_CONTEXT, "count('e0') < 3", "count('e1') > 1", "payload.n == 1", "payload.n")
OF_JOINS = (
    "branches.all(status == 'completed')",
    "branches.any(status == 'failed')",
    "branches.any(payload.n == 1)",
    "count('joined') < 4",
)


def random_graph(chance: Chance) -> Json:
    """A graph that can be served. Children run later ones, seldom themselves, so cycles come up too."""
    children: Json = {}
    for number, name in enumerate(CHILDREN):
        below = CHILDREN if happens(chance, 1, 12) else CHILDREN[number + 1 :]
        children[name] = _flow(chance, below)
    main = _main(chance)
    return {"stateous": 1, "workflow": "m", **main, "schemas": SCHEMAS, "workflows": children}


def _main(chance: Chance) -> Json:
    """The main workflow: it begins with work, and most often goes on to a state that runs children."""
    names = [f"s{number}" for number in range(chance.one([2, 3, 4]))]
    states: Json = {"s0": _working(chance, CHILDREN)}
    for name in names[1:]:
        runs = happens(chance, 3, 4) if name == "s1" else happens(chance, 1, 3)
        states[name] = _running(chance, CHILDREN) if runs else _working(chance, CHILDREN)
    ways = _starts(chance, names, least=0)
    ways += [way("__start__", "s0"), way("s0", "s1", chance.one(states["s0"]["emits"]))]
    return _whole(chance, states, ways, models=(None, "C"))


def _flow(chance: Chance, children: Sequence[str]) -> Json:
    names = [f"s{number}" for number in range(chance.one([1, 1, 2, 3]))]
    states: Json = {}
    for name in names:
        runs = bool(children) and happens(chance, 1, 4)
        states[name] = _running(chance, children) if runs else _working(chance, children)
    ways = _starts(chance, [*names, *names, "__end__"], least=1)
    return _whole(chance, states, ways, models=(None, None, "C", "C", "C", "Needy"))


def _whole(chance: Chance, states: Json, ways: list[Json], *, models: Sequence[str | None]) -> Json:
    targets = [*states, "__end__"]
    for name, state in states.items():
        for event in (*EVENTS, "timeout", "error"):
            ways += _ways(chance, name, event, targets, OF_EVENTS)
        if "parallel" in state:
            ways += _ways(chance, name, "joined", targets, OF_JOINS)
        if happens(chance, 4, 5):
            event = "joined" if "parallel" in state else state["emits"][0]
            ways.append(way(name, chance.one(targets), event))
    model = chance.one(models)
    flow: Json = {"states": states, "events": EVENTS, "transitions": ways}
    return flow if model is None else {**flow, "context": model}


def _working(chance: Chance, children: Sequence[str]) -> Json:
    emits = some(chance, sorted(EVENTS), 1, 3)
    state: Json = {
        **_timeout(chance),
        "emits": emits,
        "retries": chance.one([0, 1, 2]),
        **chance.one(STATE_LOGS),
    }
    if children and happens(chance, 3, 5):
        state["children"] = some(chance, children, 1, 2)
    return state


def _running(chance: Chance, children: Sequence[str]) -> Json:
    return {
        **_timeout(chance),
        "parallel": some(chance, children, 1, 3),
        "join": chance.one(["all", "any"]),
        "inputs": list(chance.one([("a",), ("a", "b"), ()])),
    }


def _timeout(chance: Chance) -> Json:
    return chance.one([{}, {}, {"timeout": "1h"}, {"timeout": "2h"}])


def _starts(chance: Chance, targets: Sequence[str], *, least: int) -> list[Json]:
    """Ways from START; most often one of them has no guard."""
    guards = some(chance, OF_CONTEXT, 0, 2)
    ways = [way("__start__", chance.one(targets), None, guard) for guard in guards]
    if least and (not ways or happens(chance, 5, 6)):
        ways.append(way("__start__", chance.one(targets)))
    return ways


def _ways(
    chance: Chance, source: str, event: str, targets: Sequence[str], guards: Sequence[str]
) -> list[Json]:
    """No way, most often; else guarded ones, or guarded ones and one for the rest."""
    if not happens(chance, 1, 3):
        return []
    ways = [way(source, chance.one(targets), event, guard) for guard in some(chance, guards, 0, 2)]
    if happens(chance, 1, 2):
        rest = way(source, chance.one(targets), event)
        ways.append({**rest, "otherwise": True} if ways else rest)
    return ways
