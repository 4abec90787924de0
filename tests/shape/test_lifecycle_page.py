"""docs/concepts.md shows the life cycles that the engine has."""

from __future__ import annotations

from tests.shape.lifecycle_page import HOW, PAGE, TABLES, drawn, names_in


def test_the_page_has_a_place_for_each_life_cycle() -> None:
    assert names_in(PAGE.read_text(encoding="utf-8")) == list(TABLES)


def test_the_tables_in_the_page_are_those_of_the_engine() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == drawn(page), f"the engine's life cycles have changed: run `{HOW}`"
