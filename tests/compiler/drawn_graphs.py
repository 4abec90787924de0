"""Graphs that pictures are made of: a small one, one with mistakes in its guards, and names of every kind."""

from __future__ import annotations

from tests.engine.graphs import Json, flow, main

STARTER = main(
    {"draft": {"emits": ["submitted"]}, "review": {"emits": ["reviewed"], "timeout": "6h"}},
    [
        ("__start__", "draft"),
        ("draft", "review", "submitted"),
        ("review", "__end__", "reviewed", "payload.approved"),
        ("review", "draft", "reviewed"),
        ("review", "review", "timeout"),
    ],
    events=["submitted", "reviewed"],
)

NASTY = [
    *("<script>alert(1)<script>", "a & b", '"quoted"', "it's", "]]>", "<!--", "&amp;", "&#0;"),
    *("审查", "🎉", "עברית", "\\", "%%{init}%%", "url(#x)", "x" * 128),
]

REVIEWED: Json = {
    **main(
        {"review": {"emits": ["reviewed"], "timeout": "2d"}, "rework": {"emits": ["done"]}},
        [
            ("__start__", "review"),
            ("review", "__end__", "reviewed", "payload.score > 3"),
            ("review", "rework", "reviewed", "payload.score < 6"),
            ("review", "review", "timeout"),
            ("rework", "review", "done", "count('done') < 0"),
            ("rework", "review", "done"),
        ],
        events={"reviewed": {"payload": "Review"}, "done": {}},
        schemas={
            "Review": {
                "type": "object",
                "properties": {"score": {"type": "integer"}},
                "required": ["score"],
            }
        },
    ),
    "workflow": "reviews",
}


def event_of(name: str) -> str:
    """An event called like the state, and more like markup."""
    return f"</{name[:120]}>"


def named(name: str) -> Json:
    """A graph in which everything has this name: states, a child workflow, nearly its event and the main one."""
    event = event_of(name)
    child = flow({name: {"emits": [event]}}, [("__start__", name), (name, "__end__", event)])
    states = {name: {"emits": [event]}, "run": {"parallel": [name]}}
    ways = [("__start__", name), (name, "run", event), ("run", "__end__", "joined")]
    children: Json = {name: {**child, "events": {event: {}}}}
    document = main(states, ways, events=[event], children=children)
    return {**document, "workflow": f"main {name[:120]}"}
