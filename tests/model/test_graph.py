"""Graph files: what is served, what is refused, and what they are told apart by (docs/graph-file.md)."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stateous.model.graph import InvalidGraph, parse_graph

Document = dict[str, Any]
Change = Callable[[Document], object]


def orders() -> Document:
    return {
        "stateous": 1,
        "workflow": "orders",
        "context": "Order",
        "states": {
            "draft": {"emits": ["submitted"], "timeout": "6h", "retries": 2},
            "review": {"emits": ["reviewed"]},
            "checks": {"parallel": ["scan", "lint"], "join": "any", "inputs": ["title"]},
        },
        "events": {"submitted": {}, "reviewed": {"payload": "Review"}},
        "transitions": [
            {"from": "__start__", "to": "draft", "when": "ctx['title']"},
            {"from": "__start__", "to": "review"},
            {"from": "draft", "to": "review", "on": "submitted"},
            {"from": "review", "to": "checks", "on": "reviewed", "when": "payload.approved"},
            {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
            {"from": "checks", "to": "__end__", "on": "joined", "when": "branches.any(status == 'completed')"},
            {"from": "draft", "to": "__end__", "on": "timeout"},
        ],
        "schemas": {
            "Order": {"type": "object", "properties": {"title": {"type": "string"}}},
            "Review": {"type": "object", "properties": {"approved": {"type": "boolean"}}},
        },
        "workflows": {"scan": child(), "lint": {**child(), "context": "Order"}},
    }  # fmt: skip


def child() -> Document:
    return {
        "states": {"work": {"emits": ["done"], "retries": 1}},
        "events": {"done": {}},
        "transitions": [
            {"from": "__start__", "to": "work"},
            {"from": "work", "to": "__end__", "on": "done"},
        ],
    }


def test_a_graph_is_read() -> None:
    graph = parse_graph(orders())
    main = graph.flows["orders"]
    assert graph.workflow == "orders"
    assert list(graph.flows) == ["orders", "scan", "lint"]
    assert (main.context, graph.flows["scan"].context, graph.flows["lint"].context) == (
        "Order",
        None,
        "Order",
    )
    draft, checks = main.states["draft"], main.states["checks"]
    assert (draft.emits, draft.timeout, draft.retries) == (("submitted",), timedelta(hours=6), 2)
    assert (draft.parallel, draft.join, draft.inputs) == ((), "all", ())
    assert (checks.parallel, checks.join, checks.inputs) == (("scan", "lint"), "any", ("title",))
    assert (checks.emits, checks.timeout, checks.retries) == ((), None, 0)
    assert (main.events["submitted"].payload, main.events["reviewed"].payload) == (None, "Review")


def test_transitions_are_found_by_state_and_event_in_file_order() -> None:
    main = parse_graph(orders()).flows["orders"]
    assert [start.target for start in main.starts] == ["draft", "review"]
    assert [way.target for way in main.routes("review", "reviewed")] == ["checks", "draft"]
    assert [way.guard is None for way in main.routes("review", "reviewed")] == [False, True]
    assert main.routes("review", "submitted") == ()
    assert main.routes("nowhere", "timeout") == ()


@pytest.mark.parametrize(
    ("asked", "queue"),
    [
        ("draft", "draft"),
        ("/draft", "draft"),
        ("scan/work", "scan/work"),
        ("orders/draft", "orders/draft"),
        ("//draft", "//draft"),
        ("", ""),
    ],
)
def test_the_last_slash_of_a_claim_splits(asked: str, queue: str) -> None:
    assert parse_graph(orders()).queue_of(asked) == queue


def test_a_childs_queue_has_its_workflow_before_the_slash() -> None:
    graph = parse_graph(orders())
    assert graph.queue("orders", "draft") == "draft"
    assert graph.queue("scan", "work") == "scan/work"


HARMLESS: list[Change] = [
    lambda it: it.update(more=1),
    lambda it: it["states"]["draft"].update(into="x", more=None),
    lambda it: it["transitions"][1].update(note="way"),
    # Other compilers write out what is not set.
    lambda it: it.update(context=None, workflows={**it["workflows"]}),
    lambda it: it["events"]["submitted"].update(payload=None),
    lambda it: it["states"]["draft"].update(timeout=None, retries=None, parallel=[], inputs=None),
    lambda it: it["states"]["checks"].update(join=None, emits=None),
    lambda it: it["transitions"][0].update(on=None, when=None),
    lambda it: it["transitions"][2].update(when=None, otherwise=False),
    lambda it: it["states"].update(island={"emits": []}),
    lambda it: it["transitions"].append({"from": "__start__", "to": "__end__"}),
    lambda it: it["transitions"].append(dict(it["transitions"][3])),
    lambda it: it["transitions"].clear(),
    lambda it: it.pop("context"),
    lambda it: it["states"]["checks"].pop("join"),
    lambda it: it["states"]["checks"].pop("inputs"),
    lambda it: it["schemas"].update(Unused={"type": "bogus"}),
    lambda it: it["workflows"].update(unused=child()),
]


@pytest.mark.parametrize("change", HARMLESS)
def test_what_is_odd_and_harmless_is_served(change: Change) -> None:
    document = orders()
    change(document)
    parse_graph(document)


REFUSED: list[tuple[Change, str]] = [
    (lambda it: it.update(stateous=2), "file format is 2"),
    (lambda it: it.update(stateous=True), "file format is True"),
    (lambda it: it.update(stateous="1"), "file format is '1'"),
    (lambda it: it.update(stateous=1.0), "file format is 1.0"),
    *[(lambda it, key=key: it.pop(key), f"lacks '{key}'") for key in ("stateous", "workflow", "states", "events")],
    *[(lambda it, key=key: it.pop(key), f"lacks '{key}'") for key in ("transitions", "schemas")],
    *[
        (lambda it, key=key: it["workflows"]["scan"].pop(key), f"workflow 'scan' lacks '{key}'")
        for key in ("states", "events", "transitions")
    ],
    (lambda it: it.update(workflow=""), "must be a name"),
    (lambda it: it.update(workflow=5), "must be a name"),
    (lambda it: it.update(workflow="a\x00b"), "cannot be printed"),
    (lambda it: it.update(states=[]), "must be an object"),
    (lambda it: it.update(events=None), "must be an object"),
    (lambda it: it.update(schemas=None), "must be an object"),
    (lambda it: it.update(transitions={}), "must be a list"),
    (lambda it: it.update(context="Missing"), "no model in 'schemas'"),
    (lambda it: it["events"]["submitted"].update(payload=["Review"]), "no model in 'schemas'"),
    (lambda it: it["schemas"].update(Review={"type": "bogus"}), "the schema of 'Review' is not valid"),
    (lambda it: it["schemas"].update(Review={"$ref": "#/schemas/No"}), "the schema of 'Review' is not valid"),
    (lambda it: it["states"].update(__end__={"emits": []}), "keeps for itself"),
    (lambda it: it["states"].update(__start__={"emits": []}), "keeps for itself"),
    (lambda it: it["states"].update({"a/b": {"emits": []}}), "must not hold a '/'"),
    (lambda it: it["states"].update({"": {"emits": []}}), "must be a name"),
    (lambda it: it["states"].update(draft=None), "must be an object"),
    (lambda it: it["states"]["draft"].pop("emits"), "lacks 'emits'"),
    (lambda it: it["states"]["draft"].update(emits="submitted"), "must be a list of names"),
    (lambda it: it["states"]["draft"].update(emits=[1]), "must be a list of names"),
    (lambda it: it["states"]["draft"].update(emits=["unknown"]), "no event of the workflow"),
    (lambda it: it["states"]["draft"].update(emits=["timeout"]), "no event of the workflow"),
    *[
        (lambda it, after=after: it["states"]["draft"].update(timeout=after), "'timeout' of state 'draft'")
        for after in ("soon", "0s", "6", 6, "3651d", "6h\n", True)
    ],
    *[
        (lambda it, times=times: it["states"]["draft"].update(retries=times), "'retries' of state 'draft'")
        for times in (-1, 1.0, "1", True)
    ],
    (lambda it: it["states"]["checks"].update(parallel=[]), "lacks 'emits'"),
    (lambda it: it["states"]["checks"].update(parallel="scan"), "must be a list of names"),
    (lambda it: it["states"]["checks"].update(parallel=["nothing"]), "not in 'workflows'"),
    (lambda it: it["states"]["checks"].update(parallel=["orders"]), "not in 'workflows'"),
    (lambda it: it["states"]["checks"].update(parallel=["scan", "scan"]), "runs a workflow twice"),
    (lambda it: it["states"]["checks"].update(join="most"), "must be 'all' or 'any'"),
    (lambda it: it["states"]["checks"].update(inputs={}), "must be a list of names"),
    (lambda it: it["events"].update(timeout={}), "keeps for its own events"),
    (lambda it: it["events"].update(__started__={}), "keeps for its own events"),
    (lambda it: it["events"].update(submitted=None), "must be an object"),
    (lambda it: it["transitions"].append(5), "must be an object"),
    (lambda it: it["transitions"][2].pop("from"), "transition 3 of workflow 'orders' lacks 'from'"),
    (lambda it: it["transitions"][2].pop("to"), "lacks 'to'"),
    (lambda it: it["transitions"][2].pop("on"), "lacks 'on'"),
    (lambda it: it["transitions"][2].update(on=None), "no event of the workflow"),
    (lambda it: it["transitions"][2].update(on="unknown"), "no event of the workflow"),
    (lambda it: it["transitions"][2].update(on="__started__"), "no event of the workflow"),
    (lambda it: it["transitions"][2].update({"from": "unknown"}), "which is no state"),
    (lambda it: it["transitions"][2].update({"from": "__end__"}), "which is no state"),
    (lambda it: it["transitions"][2].update({"to": "unknown"}), "which is no state"),
    (lambda it: it["transitions"][2].update({"to": "__start__"}), "which is no state"),
    (lambda it: it["transitions"][2].update({"to": ["draft"]}), "must be a name"),
    (lambda it: it["transitions"][0].update(on="submitted"), "must not have 'on'"),
    (lambda it: it["transitions"][2].update(when=True), "'when' of transition 3"),
    (lambda it: it["transitions"][2].update(when="payload."), "does not parse"),
    (lambda it: it["transitions"][2].update(when="branches.all(true)"), "does not parse"),
    (lambda it: it["transitions"][4].update(when="true"), "has 'when' and 'otherwise'"),
    (lambda it: it["transitions"][4].update(otherwise="yes"), "must be true or false"),
    (lambda it: it.update(workflows=[]), "must be an object"),
    (lambda it: it["workflows"].update(scan=[]), "must be an object"),
    (lambda it: it["workflows"].update(orders=child()), "two workflows have the name 'orders'"),
    (lambda it: it["workflows"]["scan"]["transitions"][0].update(to="draft"), "which is no state"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), REFUSED)
def test_a_bad_graph_is_refused_in_one_sentence(change: Change, said: str) -> None:
    document = orders()
    change(document)
    with pytest.raises(InvalidGraph) as refused:
        parse_graph(document)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_a_graph_is_an_object(document: object) -> None:
    with pytest.raises(InvalidGraph, match="the graph must be an object"):
        parse_graph(document)


def test_a_refusal_is_short() -> None:
    document = orders()
    document["transitions"][2]["on"] = "x" * 1_000_000
    with pytest.raises(InvalidGraph) as refused:
        parse_graph(document)
    assert len(str(refused.value)) < 400


def test_the_checksum_is_that_of_the_sorted_compact_ascii_document() -> None:
    document = {**orders(), "note": "größer 😀", "numbers": [1e16, 2**70, 1.0]}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert '"gr\\u00f6\\u00dfer \\ud83d\\ude00"' in text
    assert parse_graph(document).checksum == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_the_checksum_does_not_see_the_order_of_keys() -> None:
    document = orders()
    assert parse_graph(dict(reversed(document.items()))).checksum == parse_graph(document).checksum


def test_the_structure_is_the_checksum_without_options_of_work() -> None:
    document = orders()
    bare = copy.deepcopy(document)
    for states in (bare["states"], *(flow["states"] for flow in bare["workflows"].values())):
        for state in states.values():
            for option in ("timeout", "retries", "state_log"):
                state.pop(option, None)
    graph = parse_graph(document)
    assert graph.structure == parse_graph(bare).checksum
    assert graph.structure != graph.checksum
    document["states"]["draft"].update(timeout="1s", retries=9, state_log={"key": "x"})
    document["workflows"]["scan"]["states"]["work"]["timeout"] = "1d"
    assert parse_graph(document).structure == graph.structure
    document["states"]["draft"]["emits"] = []
    assert parse_graph(document).structure != graph.structure


def test_the_document_is_kept_as_it_is() -> None:
    document = orders()
    before = copy.deepcopy(document)
    assert parse_graph(document).document == before == document


def test_a_document_that_is_too_deep_is_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidGraph, match="too deep"):
        parse_graph({**orders(), "more": deep})
