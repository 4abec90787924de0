"""Odd moments and odd values of business items over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.cards.served import Served
from tests.cards.test_items import GRAPH, ask, done, said, stored, working

__all__ = ["GRAPH"]


@pytest.mark.parametrize(
    "query",
    [
        'after=[99999,"","",""]',
        'after=[-1,"","",""]',
        'after=[99999999999999999999999999,"","",""]',
        'after=[4,"\\ud800","",""]',
        'after=["4","","",""]',
        'after=[true,"","",""]',
        "after=",
        "scope=nobody",
        "scope=",
        "status=superseded",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=1e3",
    ],
)
async def test_an_odd_query_of_items_is_refused(served: Served, query: str) -> None:
    name, _, value = query.partition("=")
    reply = await served.api.get(f"/items?{name}={quote(value)}")
    assert said(reply) == (422, "invalid_argument"), reply.json


@pytest.mark.parametrize(
    "query",
    ["place=%00", "item=%ED%A0%80", "token=%00&item=a", "entity=" + "x" * 3000, "place=%FF"],
)
async def test_what_no_item_can_be_named_finds_none(served: Served, query: str) -> None:
    assert await stored(served, **dict([query.split("=", 1)])) == []


ODD = [
    "a'b\"c",
    "line\nbreak",
    "a/b",
    "é" * 256,
    "😀" * 256,
    "\u2028",
    "\\",
    "%",
    "_",
    " ",
    "\x7f\x01",
    "a\u0301",
    "á",
    "A",
    "a",
]


async def test_odd_names_are_items_of_their_own(served: Served) -> None:
    mine = await working(served, "A")
    told = await ask(served, mine, "acquire", *ODD)
    assert [each["outcome"] for each in told] == ["acquired"] * len(ODD)
    await ask(served, mine, "set", *(done(name, data=name) for name in ODD))
    assert [each["item"] for each in await stored(served)] == sorted(ODD)
    for name in ODD:
        (found,) = await stored(served, item=quote(name), entity="invoice")
        assert found["data"] == name
    seen: list[str] = []
    after = ""
    while True:
        page = (await served.api.get(f"/items?limit=4{after}")).json
        seen += [each["item"] for each in page["items"]]
        if "next" not in page:
            break
        after = "&after=" + quote(page["next"])
    assert seen == sorted(ODD)
    for name in ODD:
        body = {"scope": "element", "place": "dispatch", "entity": "invoice", "item": name}
        assert (await served.post("/items/expire", body)).status == 204


@pytest.mark.parametrize(
    "raw", [b'"\\ud800"', b'"\\u0000"', b'""', b"1", b"null", b'"' + b"x" * 257 + b'"']
)
@pytest.mark.parametrize("field", ["item", "entity"])
async def test_what_is_no_name_is_refused(served: Served, raw: bytes, field: str) -> None:
    if raw == b'""' and field == "entity":
        return
    mine = await working(served, "A")
    item = b'{"item": "a", "%s": %s}' % (field.encode(), raw)
    for what in ("exists", "acquire", "set", "release", "upsert"):
        body = b'{"attempt": 1, "items": [{"item": "b", "status": "processed"}, %s]}' % item
        reply = await served.api.send("POST", f"/tasks/{mine}/items/{what}", body)
        assert 400 <= reply.status < 500, (what, reply)
    for what in ("reset", "expire"):
        body = b'{"scope": "element", "place": "dispatch", "item": "a", "%s": %s}' % (
            field.encode(),
            raw,
        )
        reply = await served.api.send("POST", f"/items/{what}", body)
        assert 400 <= reply.status < 500, (what, reply)
    assert await stored(served) == []


LARGE = "x" * (256 * 1024 - 2)


async def test_no_answer_holds_more_data_than_it_has_room_for(served: Served) -> None:
    mine, other = await working(served, "A"), await working(served, "B")
    names = [f"I{number:02}" for number in range(20)]
    for at in range(0, 20, 2):
        part = [{"item": name, "data": LARGE} for name in names[at : at + 2]]
        await ask(served, mine, "upsert", *part)
    told = await ask(served, other, "acquire", *({"item": name} for name in names))
    assert [each["outcome"] for each in told] == ["done"] * 20
    assert [each.get("data") == LARGE for each in told] == [True] * 15 + [False] * 5
    assert [each.get("dataLeftOut", False) for each in told] == [False] * 15 + [True] * 5
    found = await ask(served, other, "get", *({"item": name} for name in [*names[::-1], "none"]))
    assert [each["item"] for each in found] == names[:4:-1]
    rest = await ask(served, other, "get", *({"item": name} for name in ["none", *names[:5]]))
    assert rest[0] is None
    assert [each["data"] == LARGE for each in rest[1:]] == [True] * 5
    assert (
        await ask(served, other, "exists", *({"item": name} for name in names))
        == [{"exists": True}] * 20
    )
    page = (await served.api.get("/items")).json
    assert [each["item"] for each in page["items"]] == names[:15]
    assert (await served.api.get("/items?token=A")).json == page
    page = (await served.api.get("/items?after=" + quote(page["next"]))).json
    assert [each["item"] for each in page["items"]] == names[15:]
    assert "next" not in page
