"""The loader: what becomes a parameter of psycopg, and what is left alone."""

from __future__ import annotations

import pytest

from stateous.store.statements import for_psycopg, parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select :name", "select %(name)s"),
        ("select :rows::json", "select %(rows)s::json"),
        ("select a::text, :b", "select a::text, %(b)s"),
        ("select ':name', \":name\"", "select ':name', \":name\""),
        ("select 'it''s :name', :other", "select 'it''s :name', %(other)s"),
        ("-- a :name\nselect :other", "-- a :name\nselect %(other)s"),
        ("/* a :name\n */ select :other", "/* a :name\n */ select %(other)s"),
        ("do $$ begin :name; end $$", "do $$ begin :name; end $$"),
        ("do $x$ $$ :name $x$ :other", "do $x$ $$ :name $x$ %(other)s"),
        ("select 7 % 2, '%'", "select 7 %% 2, '%%'"),
        ("-- 100 %\nselect 1", "-- 100 %%\nselect 1"),
    ],
)
def test_only_names_become_parameters(text: str, expected: str) -> None:
    assert for_psycopg(text) == expected


def test_the_parameters_of_a_statement_are_known() -> None:
    assert parameters("select :a, ':b', :c::text -- :d") == {"a", "c"}
