"""The shape of the SQL: one statement per file, one place per name, two dialects that agree."""

from __future__ import annotations

import re
from pathlib import Path

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


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


EVERY = [path for folder in ("common", *DIALECTS) for path in statements(folder).values()]
BOTH = sorted(statements("postgres").keys() & statements("sqlite").keys())


def test_there_are_statements() -> None:
    assert EVERY


def test_a_statement_is_in_one_place() -> None:
    common, postgres, sqlite = (statements(folder) for folder in ("common", *DIALECTS))
    assert not common.keys() & (postgres.keys() | sqlite.keys())


def test_both_dialects_take_the_same_parameters() -> None:
    for name in BOTH:
        postgres, sqlite = (parameters((SQL / d / f"{name}.sql").read_text()) for d in DIALECTS)
        assert postgres == sqlite, name


def test_two_texts_are_two_because_they_differ() -> None:
    for name in BOTH:
        postgres, sqlite = (" ".join(bare(SQL / d / f"{name}.sql").split()) for d in DIALECTS)
        assert postgres != sqlite, f"{name} belongs into sql/common"


def test_no_parameter_stands_in_quotes() -> None:
    for path in EVERY:
        for string in _STRING.findall(bare(path)):
            # In quotes it would be text, not a value.
            assert not re.search(r"(?<!:):[a-z_]+|%\(", string), f"{name_of(path)}: {string}"


def test_a_file_holds_one_statement() -> None:
    for path in EVERY:
        text = _STRING.sub("''", bare(path)).strip().removesuffix(";")
        assert ";" not in text, name_of(path)


def test_every_statement_is_used() -> None:
    sources = "".join(
        source.read_text(encoding="utf-8") for source in (ROOT / "stateous/store").rglob("*.py")
    )
    named = set(re.findall(r"[\"'](\w+)[\"']", sources))
    assert not [name_of(path) for path in EVERY if path.stem not in named]


def test_columns_of_tables_are_named() -> None:
    tables = "tokens|tasks|timers|ledger|memory|held|claims|flows|steps|inbox|supervisors|control_plane|stateous_version"
    star = re.compile(rf"(?i)\*\s+from\s+(?:{tables})\b|returning\s+\*")
    assert not [name_of(path) for path in EVERY if star.search(bare(path))]
