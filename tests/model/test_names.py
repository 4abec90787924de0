"""Patterns of ids: in full, and ASCII only."""

from __future__ import annotations

import pytest

from stateous.model.names import REQUEST_ID, TOKEN_ID


@pytest.mark.parametrize("token", ["A", "0", "ORDER-1", "a._-", "x" * 128])
def test_a_token_id_begins_with_a_letter_or_digit(token: str) -> None:
    assert TOKEN_ID.fullmatch(token)


@pytest.mark.parametrize("token", ["", "-a", ".a", "_a", "x" * 129, "a b", "a/b", "a\n", "é", "٣"])
def test_another_token_id_does_not_match(token: str) -> None:
    assert not TOKEN_ID.fullmatch(token)


def test_a_request_id_has_up_to_64_characters() -> None:
    assert REQUEST_ID.fullmatch("-" * 64)
    assert not REQUEST_ID.fullmatch("a" * 65)
    assert not REQUEST_ID.fullmatch("")
