"""The shape of the SQL: one statement per file, one place per name, two dialects that agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stateous.store.statements import parameters

ROOT = Path(__file__).parents[2]
SQL = ROOT / "sql"
DIALECTS = ("postgres", "sqlite")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"'(?:[^']|'')*'")


def statements(folder: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted((SQL / folder).glob("*.sql"))}


def bare(path: Path) -> str:
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))


EVERY = [path for folder in ("common", *DIALECTS) for path in statements(folder).values()]
BOTH = sorted(statements("postgres").keys() & statements("sqlite").keys())


def test_there_are_statements() -> None:
    assert EVERY


def test_a_statement_is_in_one_place() -> None:
    common, postgres, sqlite = (statements(folder) for folder in ("common", *DIALECTS))
    assert not common.keys() & (postgres.keys() | sqlite.keys())


@pytest.mark.parametrize("name", BOTH)
def test_both_dialects_take_the_same_parameters(name: str) -> None:
    postgres, sqlite = (parameters((SQL / d / f"{name}.sql").read_text()) for d in DIALECTS)
    assert postgres == sqlite


@pytest.mark.parametrize("name", BOTH)
def test_two_texts_are_two_because_they_differ(name: str) -> None:
    postgres, sqlite = (" ".join(bare(SQL / d / f"{name}.sql").split()) for d in DIALECTS)
    assert postgres != sqlite, "the same text belongs into sql/common"


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_parameter_stands_in_quotes(path: Path) -> None:
    for string in _STRING.findall(bare(path)):
        assert not re.search(r"(?<!:):[a-z_]+|%\(", string), f"{string} would be text, not a value"


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_holds_one_statement(path: Path) -> None:
    text = _STRING.sub("''", bare(path)).strip().removesuffix(";")
    assert ";" not in text


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_statement_is_used(path: Path) -> None:
    sources = "".join(
        source.read_text(encoding="utf-8") for source in (ROOT / "stateous/store").rglob("*.py")
    )
    assert re.search(rf"[\"']{path.stem}[\"']", sources), "no store asks for it"


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_columns_of_tables_are_named(path: Path) -> None:
    tables = "tokens|tasks|timers|ledger|memory|held|claims|control_plane|stateous_version"
    stars = re.findall(rf"(?i)\*\s+from\s+(?:{tables})\b|returning\s+\*", bare(path))
    assert not stars, "a statement says which columns it wants"
