"""The shape of the views: one a file, called as its file, over tables in reach, and nothing else in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "sql/views").glob("*.sql"))
_COMMENT = re.compile(r"--[^\n]*")
_STRING = re.compile(r"'(?:[^']|'')*'")


def bare(path: Path) -> str:
    return _STRING.sub("''", _COMMENT.sub("", path.read_text(encoding="utf-8"))).strip()


def test_there_are_views() -> None:
    assert len(FILES) >= 7


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_makes_its_view_and_says_what_it_is(path: Path) -> None:
    made, *comments = (part.strip() for part in bare(path).removesuffix(";").split(";"))
    assert made.startswith(f'create view :"views".{path.stem} as\n')
    assert len(comments) > 1
    for comment in comments:
        what = rf'(view :"views"\.{path.stem}|column :"views"\.{path.stem}\.\w+)'
        assert re.fullmatch(rf"comment on {what} is ''", comment), comment


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_view_names_its_columns_and_finds_its_tables_in_reach(path: Path) -> None:
    text = bare(path)
    assert not re.search(r"\w+\.\*|select\s+\*", text)
    assert "stateous" not in text
    assert set(re.findall(r":\"?\w+\"?", text.replace("::", ""))) == {':"views"'}


def test_no_view_is_read_with_its_readers_rights_or_behind_a_barrier() -> None:
    """Who may read a view needs no right on tables; and none hides rows, so that a barrier only costs."""
    for path in FILES:
        assert not re.search(r"security_(invoker|barrier)", bare(path)), path.stem
