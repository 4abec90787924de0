"""Draws the life cycles in docs/concepts.md from the engine's tables: `python -m tests.shape.lifecycle_page`."""

from __future__ import annotations

import re
from pathlib import Path

from stateous.engine.lifecycles import ITEM, STEP, TASK, TIMER, TOKEN, Moves

PAGE = Path(__file__).parents[2] / "docs/concepts.md"
HOW = "python -m tests.shape.lifecycle_page"
TABLES: dict[str, Moves] = {
    "TOKEN": TOKEN,
    "TASK": TASK,
    "STEP": STEP,
    "TIMER": TIMER,
    "ITEM": ITEM,
}

_PLACE = re.compile(
    r"(?P<begin><!-- drawn from stateous/engine/lifecycles\.py: (?P<name>\w+) -->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)


def table_of(moves: Moves) -> str:
    """A life cycle as a table of the page, in the order in which the engine writes it."""
    lines = ["| status | can become |", "|---|---|"]
    for status, allowed in moves.items():
        further = ", ".join(f"`{each}`" for each in moves if each in allowed)
        lines.append(f"| `{status}` | {further or 'nothing more: an end'} |")
    return "\n".join(lines)


def drawn(page: str) -> str:
    """The page with all its tables as they are now."""

    def draw(place: re.Match[str]) -> str:
        return f"{place['begin']}\n{table_of(TABLES[place['name']])}\n\n{place['end']}"

    return _PLACE.sub(draw, page)


def names_in(page: str) -> list[str]:
    """The tables that the page has a place for."""
    return [place["name"] for place in _PLACE.finditer(page)]


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
