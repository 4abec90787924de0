"""A decision costs the same however long the token's history is, and however many its children were or are.

For each pair, a token that is young and one that is old stand in the same tables, so that no index is deeper
for one of them, and both get the same command. On Postgres the rows that are touched are the same, and the pages
differ by no more than `PAGES`: a new entry of an index may come to stand on a page that is full, and then a page
of each level is split. On SQLite the steps differ by no more than `STEPS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from stateous.engine.commands import (
    Cancel,
    Claim,
    Command,
    EndLease,
    Fire,
    Note,
    Pause,
    Release,
    Report,
    Resume,
    SetMemory,
    Start,
)
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from tests.databases import Database
from tests.engine.graphs import Json, way
from tests.store.costs import Costs, Measure, measuring
from tests.store.opened import raw

VISITS = 1500
"""Earlier ones, with two children each."""

MANY = 500

PAGES = 60
"""Per statement: three levels of four indexes, and what a table that gets a new page looks up besides (16 were
seen). What grows, grows by hundreds, and its rows differ too."""

STEPS = 12
"""Per statement, on SQLite: a few ids in another order, in a list that is sorted. A row is five steps or more."""

MOST_ROWS = 60
"""That a command touches which moves one token, whatever there is."""

MANY_CHILDREN = [f"c{number}" for number in range(MANY)]
CHILD: Json = {
    "states": {"look": {"emits": ["done"], "timeout": "1d", "retries": 9}},
    "events": {"done": {}, "again": {}},
    "transitions": [
        way("__start__", "look"),
        way("look", "__end__", "done"),
        way("look", "look", "again"),
    ],
}
GRAPH: Json = {
    "stateous": 1,
    "workflow": "m",
    "states": {
        "work": {"emits": ["done"], "timeout": "1d", "retries": 9},
        "few": {"parallel": ["c0", "c1"], "join": "all", "timeout": "1d"},
        "many": {"parallel": MANY_CHILDREN, "join": "all", "timeout": "1d"},
    },
    "events": {"done": {}, "again": {}, "few": {}, "many": {}, "leave": {}},
    "transitions": [
        way("__start__", "work"),
        way("work", "work", "done"),
        way("work", "work", "again"),
        way("work", "few", "few"),
        way("work", "many", "many"),
        *(way(state, "work", event) for state in ("few", "many") for event in ("leave", "joined")),
    ],
    "schemas": {},
    "workflows": dict.fromkeys(MANY_CHILDREN, CHILD),
}
RULES = Rules(parse_graph(GRAPH))

# The same texts for both databases. Others stand around the pair, so that plans are not those of tiny tables.
CROWD = (
    """
insert into tokens (token, root, workflow, state, status, visit, seq, context, counts, visits,
                    created_at, entered_at, changed_at)
with recursive n(n) as (select 1 union all select n + 1 from n where n < 2000)
select 'crowd-' || n, 'crowd-' || n, 'm', 'work', 'active', 1, 1, '{}', '{}', '{}',
       '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z' from n
""",
    """
insert into ledger (token, seq, at, kind, data)
with recursive n(n) as (select 1 union all select n + 1 from n where n < 2000)
select 'crowd-' || n, 1, '2026-01-01T00:00:00.000000Z', 'started', '{}' from n
""",
    """
insert into tasks (id, token, queue, state, visit, status, queued_at)
with recursive n(n) as (select 1 union all select n + 1 from n where n < 2000)
select 3000000 + n, 'crowd-' || n, 'crowd', 'work', 1, 'queued', '2026-01-01T00:00:00.000000Z' from n
""",
    """
insert into timers (id, token, state, visit, event, kind, status, set_at, due_at)
with recursive n(n) as (select 1 union all select n + 1 from n where n < 2000)
select 4000000 + n, 'crowd-' || n, 'work', 1, 'timeout', 'timeout', 'pending',
       '2026-01-01T00:00:00.000000Z', '2036-01-01T00:00:00.000000Z' from n
""",
)
MORE_ENTRIES = """
insert into ledger (token, seq, at, kind, key, data)
with recursive n(n) as (select 12 union all select n + 1 from n where n < 100000)
select 'old', n, '2026-01-01T00:00:00.000000Z', 'note', case when n % 3 = 0 then 'key-' || n end, '{}' from n
"""
SEQ_OF_MORE = "update tokens set seq = 100000 where token = 'old'"
ENDED_CHILDREN = """
insert into tokens (token, root, parent, workflow, state, status, visit, seq, context, counts, visits,
                    created_at, entered_at, changed_at)
with recursive n(n) as (select 0 union all select n + 1 from n where n < 2999)
select 'old.few.' || (n / 2 + 1) || '.c' || (n % 2), 'old', 'old', 'c' || (n % 2), 'look', 'completed', 1, 8,
       '{}', '{}', '{}', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z',
       '2026-01-01T00:00:00.000000Z' from n
"""
ENDED_TASKS = """
insert into tasks (id, token, queue, state, visit, status, attempt, queued_at)
with recursive n(n) as (select 0 union all select n + 1 from n where n < 2999)
select 1000000 + n, 'old.few.' || (n / 2 + 1) || '.c' || (n % 2), 'c' || (n % 2) || '/look', 'look', 1,
       'done', 1, '2026-01-01T00:00:00.000000Z' from n
"""
ENDED_TIMERS = """
insert into timers (id, token, state, visit, event, kind, status, set_at, due_at)
with recursive n(n) as (select 0 union all select n + 1 from n where n < 2999)
select 2000000 + n, 'old.few.' || (n / 2 + 1) || '.c' || (n % 2), 'look', 1, 'timeout', 'timeout',
       'cancelled', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z' from n
"""
EARLIER_VISITS = """
update tokens set visits = '{"work": 1501, "few": 1500}' where token = 'old'
"""
SIBLINGS_ENDED = """
update tokens set status = 'completed'
where parent in ('young', 'old') and token not in ('young.few.1.c0', 'old.many.1.c0')
"""
ONE_IS_LEFT = "update tokens set children_open = 1 where token in ('young', 'old')"

Make = Callable[[str, int], Command | Claim]
"""A command for a token and the task that it has."""

OF_A_TASK: dict[str, Make] = {
    "note": lambda _, task: Note(task=task, text="half way"),
    "note with an id": lambda _, task: Note(task=task, text="half way", id="m-1"),
    "memory": lambda _, task: SetMemory(task=task, key="k", value=1),
    "report": lambda _, task: Report(task=task, kind="event", event="done"),
    "waiting": lambda _, task: Report(task=task, kind="waiting", supervisor="box"),
    "failed": lambda _, task: Report(task=task, kind="failed", error="no ink"),
    "lease": lambda _, task: EndLease(task),
    "release": lambda _, task: Release(task=task, supervisor="box"),
    "fire": lambda token, _: Fire(token, "again"),
    "fire with a key": lambda token, _: Fire(token, "again", key="key-new"),
}
OF_A_TOP: dict[str, Make] = {
    "pause": lambda token, _: Pause(token),
    "cancel": lambda token, _: Cancel(token),
}
LEAVE: dict[str, Make] = {"leave": lambda token, _: Fire(token, "leave"), **OF_A_TOP}


async def test_the_length_of_a_history_costs_nothing(database: Database) -> None:
    async with measuring(database, RULES) as measure:
        for token in ("young", "old"):
            await measure.decide(Start(token, {}))
            await measure.decide(Claim(supervisor="box", states=("work",)))
            for _ in range(5):
                await measure.decide(Note(task=await task_of(measure, token), text="so far"))
        found = await measure.store.token_read("old")
        assert found is not None
        assert found.seq == 11, "the seeded entries go on from here"
        await raw(database, MORE_ENTRIES)
        await raw(database, SEQ_OF_MORE)
        pair = await pair_of(measure, database, "young", "old")
        await pair.compare(OF_A_TASK | OF_A_TOP)
        await pair.compare_claims("work")
        await pair.compare({"few": lambda token, _: Fire(token, "few")})


async def test_ended_children_of_earlier_visits_cost_nothing(database: Database) -> None:
    async with measuring(database, RULES) as measure:
        for token in ("young", "old"):
            await measure.decide(Start(token, {}))
        for seed in (ENDED_CHILDREN, ENDED_TASKS, ENDED_TIMERS, EARLIER_VISITS):
            await raw(database, seed)
        for token in ("young", "old"):
            await measure.decide(Fire(token, "few"))
            for states in ("c0/look", "c1/look"):
                await measure.decide(Claim(supervisor="box", states=(states,)))
        visits = {"young": 1, "old": VISITS + 1}
        children = [f"{token}.few.{visit}.c0" for token, visit in visits.items()]
        others = [f"{token}.few.{visit}.c1" for token, visit in visits.items()]
        tops = await pair_of(measure, database, *visits)
        await tops.compare(LEAVE)
        assert measure.read == {"old", children[1], others[1]}, "nothing of an earlier visit"
        branches = await pair_of(measure, database, *children)
        await branches.compare(OF_A_TASK)
        await branches.compare_claims("c0/look")
        for token in visits:
            await measure.decide(Pause(token))
        await branches.compare({"held": OF_A_TASK["report"]})
        await tops.compare({"resume": lambda token, _: Resume(token), "cancel": OF_A_TOP["cancel"]})
        for token in visits:
            await measure.decide(Resume(token))
        for child in others:
            await measure.decide(Fire(child, "done"))
        await branches.compare({"the join": OF_A_TASK["report"]})
        assert measure.read == {"old", children[1], others[1]}, "nothing of an earlier visit"


async def test_live_siblings_cost_nothing_until_the_last_one_ends(database: Database) -> None:
    async with measuring(database, RULES) as measure:
        for token, state in (("young", "few"), ("old", "many")):
            await measure.decide(Start(token, {}))
            await measure.decide(Fire(token, state))
            await measure.decide(Claim(supervisor="box", states=("c0/look",)))
        children = ["young.few.1.c0", "old.many.1.c0"]
        branches = await pair_of(measure, database, *children)
        await branches.compare(OF_A_TASK)
        await branches.compare_claims("c0/look")
        await branches.compare({"fire": OF_A_TASK["fire"]})
        assert measure.read == {"old", children[1]}, "no sibling"
        for seed in (SIBLINGS_ENDED, ONE_IS_LEFT):
            await raw(database, seed)
        few, many = await branches.costs(OF_A_TASK["report"])
        assert len(measure.read) == 1 + MANY, "the last one's end reads each sibling"
        if database.dialect == "postgres":
            siblings = many["families_read"].rows["tokens"] - few["families_read"].rows["tokens"]
            # Each is looked up when its line is followed, and when it is read.
            assert siblings < 4 * MANY


class Pair:
    """Two tokens that get the same commands; the second is the one with much around it."""

    def __init__(self, measure: Measure, *tokens: str) -> None:
        self._measure = measure
        self._tokens = tokens

    async def costs(self, make: Make) -> list[Costs]:
        """What the command costs that is made for each of them."""
        return [
            await self._measure.costs(make(token, await task_of(self._measure, token)))
            for token in self._tokens
        ]

    async def compare(self, commands: dict[str, Make]) -> None:
        """Each command costs the same for both."""
        for name, make in commands.items():
            check(name, *await self.costs(make))

    async def compare_claims(self, queue: str) -> None:
        """A claim of the task that either gives back costs the same."""
        found: list[Costs] = []
        for token in self._tokens:
            claim = Claim(supervisor=f"box of {token}", states=(queue,), request="r")
            await self._measure.decide(EndLease(await task_of(self._measure, token)))
            found.append(await self._measure.costs(claim))
            await self._measure.decide(claim)
            self._measure.clock.forward(minutes=3)
        check("claim", *found)


def check(command: str, young: Costs, old: Costs) -> None:
    assert young.keys() == old.keys(), command
    for name, cost in young.items():
        other = old[name]
        assert cost.rows == other.rows, (command, name)
        assert abs(cost.steps - other.steps) <= STEPS, (command, name, cost, other)
        assert abs(cost.pages - other.pages) <= PAGES, (command, name, cost, other)
    rows = sum((cost.rows for cost in old.values()), Counter[str]())
    assert rows.total() <= MOST_ROWS, (command, rows)


async def pair_of(measure: Measure, database: Database, young: str, old: str) -> Pair:
    """The two tokens in a crowd, once Postgres has noticed how large its tables are, and leases are over."""
    if not await raw(database, "select 1 from tokens where token = 'crowd-1'"):
        for seed in CROWD:
            await raw(database, seed)
    if database.dialect == "postgres":
        await raw(database, "vacuum (analyze) tokens, ledger, tasks, timers")
    measure.clock.forward(minutes=3)
    return Pair(measure, young, old)


async def task_of(measure: Measure, token: str) -> int:
    """The token's open task; 0 when it has none."""
    found = await measure.store.token_read(token)
    assert found is not None
    return found.task or 0
