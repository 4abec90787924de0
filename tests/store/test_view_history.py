"""The view `history` says every entry in the very words of the command line."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateous.engine.changes import Changes
from stateous.engine.family import Entry
from stateous.model.sentences import SENTENCES, UNPRINTABLE, entry_sentence
from stateous.store.postgres.views import view_names
from stateous.store.resources import resource_folder
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.store.walked import DEEP, SEEDS, from_seed, viewed, walked, write_world
from tests.store.written import AT, write

HISTORY = 'select token, seq, at, kind, sentence, data from history order by token collate "C", seq'

# What a document may hold once it came through the door: no null character, no half of a surrogate pair.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=6,
)
FIELDS = sorted({field for said in SENTENCES.values() for field in re.findall(r"{(\w+)}", said)})
DATA = st.dictionaries(st.sampled_from(FIELDS), JSON)


def entries_of(datas: list[Any]) -> list[Entry]:
    """An entry of each kind for each of these data."""
    return [
        Entry(token=kind, seq=seq, at=AT, kind=kind, data=data)
        for kind in SENTENCES
        for seq, data in enumerate(datas, start=1)
    ]


def sent(data: dict[str, Any]) -> dict[str, Any]:
    """The data as whoever asked over HTTP gets them."""
    return msgspec.json.decode(msgspec.json.encode(data))


async def check(database: Database, entries: list[Entry]) -> None:
    said = await viewed(database, HISTORY)
    assert [
        (row["token"], row["seq"], row["at"], row["kind"], row["sentence"]) for row in said
    ] == [
        (each.token, each.seq, each.at, each.kind, entry_sentence(each.kind, sent(each.data)))
        for each in sorted(entries, key=lambda each: (each.token, each.seq))
    ]


async def test_what_happens_on_walks_is_said_alike(postgres: Database, clock: Clock) -> None:
    async with opened(postgres.store(clock)) as store:
        for seed in SEEDS:
            with from_seed(seed) as world:
                await write_world(postgres, store, world)
                await check(postgres, [e for every in world.ledger.values() for e in every])


def test_the_walks_meet_every_kind() -> None:
    met = {
        entry.kind for seed in SEEDS for every in walked(seed).ledger.values() for entry in every
    }
    assert met == set(SENTENCES)


async def test_every_kind_is_said_alike_whatever_its_fields_hold(
    postgres: Database, clock: Clock
) -> None:
    found: list[Any] = [{}]

    @settings(max_examples=400 if DEEP else 60, suppress_health_check=[HealthCheck.too_slow])
    @given(DATA)
    def find(data: dict[str, object]) -> None:
        found.append(data)

    find()
    found += [
        dict.fromkeys(FIELDS),
        dict.fromkeys(FIELDS, "a\tb\nc\rd\\e'f\"g%h"),
        {field: {"ä": [1, 1.0, 1e16, -0.0, 10**30, None, "\x1b[31m"]} for field in FIELDS},
    ]
    entries = entries_of(found)
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(entries=entries))
    await check(postgres, entries)


async def test_every_character_is_said_alike(postgres: Database, clock: Clock) -> None:
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    width = 4096
    texts = ["".join(map(chr, codes[at : at + width])) for at in range(0, len(codes), width)]
    entries = [
        Entry(token="T", seq=seq, at=AT, kind="note", data={"task": 1, "text": text})
        for seq, text in enumerate(texts, start=1)
    ]
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(entries=entries))
    await check(postgres, entries)


async def test_a_kind_that_is_not_known_is_said_alike(postgres: Database, clock: Clock) -> None:
    entries = [Entry("T", 1, AT, "step_saved", {"step": 1, "value": "\x07é"})]
    await raw(postgres, "alter table ledger drop constraint ledger_kind_check")
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(entries=entries))
    await check(postgres, entries)


def test_the_view_has_the_characters_of_the_command_line() -> None:
    text = (resource_folder("sql") / "views/history.sql").read_text(encoding="utf-8")
    assert "history" in view_names()
    written = "".join(re.findall(r"(?:select |\|\| )'(\[?\\[^']*)'", text))
    assert written == f"[{UNPRINTABLE}]"


async def test_documents_come_as_they_were_written(postgres: Database, clock: Clock) -> None:
    data = {"task": 1, "text": "x", "n": 10**30, "f": 1e16}
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(entries=[Entry("T", 1, AT, "note", data)]))
    rows = await viewed(postgres, "select data::text, data ->> 'n' as n from history")
    assert rows == [{"data": msgspec.json.encode(data).decode(), "n": str(10**30)}]
