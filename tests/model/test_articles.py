"""What a value is, said with the right article."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from stateous import NotJson
from stateous.client.documents import plain
from stateous.model.articles import a_kind_of, with_article


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("int", "an int"), ("object", "an object"), ("Order", "an Order"), ("Event", "an Event"), ("Audit", "an Audit"),
        ("Unshipped", "an Unshipped"), ("_Item", "an _Item"), ("list", "a list"), ("UUID", "a UUID"), ("User", "a User"),
        ("Unit", "a Unit"), ("Euro", "a Euro"), ("Utility", "a Utility"), ("_Row", "a _Row"),
    ],
)  # fmt: skip
def test_the_article_is_that_of_the_name(name: str, said: str) -> None:
    assert with_article(name) == said


@pytest.mark.parametrize(
    ("value", "said"), [(1, "an int"), ([], "a list"), (UUID(int=0), "a UUID")]
)
def test_the_name_is_that_of_the_class(value: Any, said: str) -> None:
    assert a_kind_of(value) == said


def test_what_is_no_json_has_its_article() -> None:
    with pytest.raises(NotJson, match="is an object, which JSON cannot hold"):
        plain(object(), "context.x")
