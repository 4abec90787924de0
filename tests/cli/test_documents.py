"""JSON objects as people type them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from stateous.cli.documents import NotADocument, read_document


def read(*texts: str) -> dict[str, object] | None:
    return read_document(texts, option="--payload")


def test_nothing_given_is_nothing() -> None:
    assert read() is None


def test_json_is_read_exactly() -> None:
    assert read('{"n": ' + "9" * 400 + ', "x": 1.0}') == {"n": int("9" * 400), "x": 1.0}


def test_pairs_are_json_where_they_can_be_and_text_where_not() -> None:
    assert read("approved=true", "note=looks good", "n=5", 'id="5"', "empty=", "a=b=c") == {
        "approved": True,
        "note": "looks good",
        "n": 5,
        "id": "5",
        "empty": "",
        "a": "b=c",
    }


def test_later_keys_win() -> None:
    assert read('{"a": 1, "b": 1}', "a=2") == {"a": 2, "b": 1}


def test_a_file_and_stdin_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"from": "file"}')
    assert read(f"@{file}") == {"from": "file"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"from": "stdin"}')))
    assert read("-") == {"from": "stdin"}


@pytest.mark.parametrize("text", ["[1]", "5", '"text"', "null", "word", "{", "", '{"a": NaN}'])
def test_anything_else_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(NotADocument, match="--payload"):
        read(text)


@pytest.mark.parametrize("text", ["word", "5", "[1", '"text'])
def test_what_begins_as_no_object_is_told_what_is_taken(text: str) -> None:
    with pytest.raises(NotADocument, match="takes a JSON object, key=value, @FILE, or - for stdin"):
        read(text)


def test_a_file_that_is_not_there_is_an_error_of_the_file() -> None:
    with pytest.raises(FileNotFoundError):
        read("@nowhere.json")
