"""docs/sql.md says what is true: its examples run as they stand, and a control plane does what they ask."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.model.graph import parse_graph
from tests.databases import Database
from tests.engine.graphs import Json
from tests.store.calls import Program, new_role, program

TEXT = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^```(?P<language>sql|python)\n(?P<text>.*?)^```\n(?:\n```\n(?P<answer>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
OF_THE_OWNER = ("grant", "delete", "select stateous.wake()")

ORDER: Json = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "euros": {"type": "number"}},
    "required": ["item", "euros"],
}
ORDERS: Json = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {"payment": {"emits": []}, "packing": {"emits": ["packed"]}},
    "events": {"paid": {"payload": "Payment"}, "packed": {}},
    "transitions": [
        {"from": "__start__", "to": "payment"},
        {"from": "payment", "to": "packing", "on": "paid"},
        {"from": "packing", "to": "__end__", "on": "packed"},
    ],
    "schemas": {"Order": ORDER, "Payment": {"type": "object"}},
}
TABLE = """
create table orders (id bigint primary key, item text not null, euros numeric not null, paid_at timestamptz);
alter table orders owner to shop;
grant create on schema public to shop"""


def cells(answer: str) -> list[list[str]]:
    """The rows of a printed answer, without its header and its count."""
    lines = answer.splitlines()[2:]
    assert lines.pop() == f"({len(lines)} rows)"
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def printed(row: dict[str, Any]) -> list[str]:
    return ["" if value is None else str(value) for value in row.values()]


class Page:
    """The page as a shop reads it, example by example."""

    def __init__(self, database: Database, plane: Plane, role: str) -> None:
        self.database = database
        self.plane = plane
        self.role = role

    def own(self, text: str) -> str:
        """The text, for the role that is the shop here."""
        return re.sub(r"\b(to|owner to) shop\b", rf"\1 {self.role}", text)

    async def run(self, owner: Program, shop: Program) -> None:
        for block in BLOCK.finditer(TEXT):
            text = self.own(block["text"])
            if block["language"] == "python":
                await asyncio.to_thread(self.run_python, text)
            elif block["answer"]:
                rows = await shop.run(text)
                assert [printed(row) for row in rows] == cells(block["answer"])
            else:
                await (owner if text.startswith(OF_THE_OWNER) else shop).run(text)
            await self.plane.inbox.empty()

    def run_python(self, text: str) -> None:
        assert "postgresql:///shop" in text
        join = "&" if "?" in self.database.url else "?"
        url = f"{self.database.url}{join}options=-crole%3D{self.role}"
        exec(compile(text.replace("postgresql:///shop", url), "sql.md", "exec"), {})  # noqa: S102


async def test_the_page_is_true(postgres: Database) -> None:
    plane = await open_plane(graph=parse_graph(ORDERS), db=postgres.url)
    try:
        async with (
            new_role(postgres) as role,
            program(postgres) as owner,
            program(postgres, role=role) as shop,
        ):
            page = Page(postgres, plane, role)
            await owner.run(page.own(TABLE))
            await page.run(owner, shop)
            counted = await owner.run("select status, count(*) from stateous.inbox group by status")
            assert {row["status"]: row["count"] for row in counted} == {
                "applied": 255,
                "refused": 2,
            }
            assert (await plane.token("ORDER-7")).state == "packing"
            for name, item in (("ORDER-8", "Table"), ("ORDER-9", "Lamp"), ("STOCK-250", "Chair")):
                assert (await plane.token(name)).context["item"] == item
    finally:
        await plane.stop()


async def test_each_column_of_the_view_is_on_the_page(postgres: Database) -> None:
    async with program(postgres) as owner:
        columns = await owner.run(
            "select column_name as name from information_schema.columns "
            "where table_schema = 'stateous_views' and table_name = 'inbox'"
        )
    assert len(columns) > 8
    rows = re.findall(r"^\| (`.*) \| .* \|$", TEXT.partition("| column | says |")[2], re.MULTILINE)
    assert {row["name"] for row in columns} == set(re.findall(r"`(\w+)`", " ".join(rows)))
