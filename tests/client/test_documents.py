"""Values of a program as JSON: what is written out, what is refused, and that the refusal names the field."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pydantic
import pytest

from stateous.client.address import BadAddress, parse_address
from stateous.client.documents import NotJson, plain


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Line(msgspec.Struct, rename={"count": "how-many"}):
    count: int
    when: datetime
    tags: set[str] = set()


@dataclass
class Box:
    line: Line


class Model(pydantic.BaseModel):
    when: datetime


class Odd:
    pass


@dataclass
class Holder:
    odd: Any


class Attrs:
    """As attrs makes one: its fields are listed in the class."""

    __attrs_attrs__ = (SimpleNamespace(name="price"),)

    def __init__(self, price: Decimal) -> None:
        self.price = price


class Moment(datetime):
    pass


class Price(Decimal):
    pass


class Text(str):
    __slots__ = ()


class Number(float):
    pass


@pydantic.dataclasses.dataclass
class Parcel:
    weight: Decimal = pydantic.Field(alias="how-heavy")


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


WRITTEN: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (2**70, 2**70),
    (1.0, 1.0),
    (Text("é"), "é"),
    (Number(0.5), 0.5),
    (NOON, "2026-01-02T12:00:00Z"),
    (date(2026, 1, 2), "2026-01-02"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Colour.RED, "red"),
    (Size.SMALL, 1),
    ((1, [2, {"a": ()}]), [1, [2, {"a": []}]]),
    (Line(1, NOON, {"x"}), {"how-many": 1, "when": "2026-01-02T12:00:00Z", "tags": ["x"]}),
    (
        [Box(Line(1, NOON))],
        [{"line": {"how-many": 1, "when": "2026-01-02T12:00:00Z", "tags": []}}],
    ),
    ({"m": Model(when=NOON)}, {"m": {"when": "2026-01-02T12:00:00Z"}}),
    (Holder(Model(when=NOON)), {"odd": {"when": "2026-01-02T12:00:00Z"}}),
    (Parcel(**{"how-heavy": Decimal("1.50")}), {"how-heavy": "1.50"}),
    (Holder({UUID(int=1): 1}), {"odd": {"00000000-0000-0000-0000-000000000001": 1}}),
    (Attrs(Decimal("1.50")), {"price": "1.50"}),
    (Decimal("1.50"), "1.50"),
    (Price("1.50"), "1.50"),
    (Moment(2026, 1, 2, 12, tzinfo=UTC), "2026-01-02T12:00:00+00:00"),
    (Holder(Moment(2026, 1, 2)), {"odd": "2026-01-02T00:00:00"}),
    (timedelta(days=1, seconds=3), "P1DT3S"),
]


@pytest.mark.parametrize(("value", "written"), WRITTEN)
def test_models_and_times_are_written_as_their_schema_says(value: object, written: object) -> None:
    result = plain(value, "payload")
    assert result == written
    assert type(result) is type(written)
    msgspec.json.encode(result)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"a": [1, float("nan")]}, "payload.a[1] is nan, which JSON cannot hold"),
        ({"a": float("-inf")}, "payload.a is -inf, which JSON cannot hold"),
        ({"a": b"x"}, "payload.a is a bytes, which JSON cannot hold"),
        ({"a": {1}}, "payload.a is a set, which JSON cannot hold"),
        ({"a": Decimal("-Infinity")}, "payload.a is -Infinity, which JSON cannot hold"),
        ({"a": Model}, "payload.a is a ModelMetaclass, which JSON cannot hold"),
        (Holder(Odd()), "within payload is an Odd, which JSON cannot hold"),
        (Holder(range(2)), "within payload is a range, which JSON cannot hold"),
        ({"a": Odd()}, "payload.a is an Odd, which JSON cannot hold"),
        ({"a": Odd}, "payload.a is a type, which JSON cannot hold"),
        ({1: 2}, "payload has the key 1, which is no text"),
        ({"a": "\ud800"}, "payload.a holds half of a surrogate pair, which JSON cannot hold"),
        ({"a": 10**4300}, "payload.a is an integer of more than 4300 digits"),
        (Line(float("nan"), NOON), "payload.how-many is nan, which JSON cannot hold"),  # type: ignore[arg-type]
    ],
)
def test_what_json_cannot_hold_is_named(value: object, sentence: str) -> None:
    with pytest.raises(NotJson) as caught:
        plain(value, "payload")
    assert str(caught.value) == sentence


def test_a_model_that_cannot_be_written_says_which_field() -> None:
    class Stubborn:
        def model_dump(self, **_how: object) -> None:
            raise TypeError("I will not")

    with pytest.raises(NotJson, match=r"payload\.x cannot be written as JSON: I will not"):
        plain({"x": Stubborn()}, "payload")


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotJson, match="nests deeper than 64 levels"):
        plain(loop, "payload")


def test_sixty_four_levels_are_the_deepest() -> None:
    value: Any = 1
    for _ in range(63):
        value = [value]
    assert plain(value, "payload", level=2) == value
    with pytest.raises(NotJson):
        plain([value], "payload", level=2)


def test_a_copy_is_returned() -> None:
    inner: list[int] = []
    written = plain({"a": inner}, "context")
    inner.append(1)
    assert written == {"a": []}


@pytest.mark.parametrize(
    ("url", "shown", "port"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", 8080),
        (" http://Host/ ", "http://host", 80),
        ("https://u:p@host/a/", "https://host/a", 443),
        ("http://[::1]:9", "http://[::1]:9", 9),
    ],
)
def test_an_address_is_shown_without_user_and_password(url: str, shown: str, port: int) -> None:
    address = parse_address(url)
    assert (address.shown, address.port) == (shown, port)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8080",
        "ftp://x",
        "http://",
        "http://u:secret@h:99999",
        "http://h/?a=secret",
        "http://a b",
        "http://a..b:8080",
        f"http://{'a' * 64}:8080",
    ],
)
def test_an_address_that_cannot_be_used_is_not_repeated(url: str) -> None:
    with pytest.raises(BadAddress, match=r"looks like http://127\.0\.0\.1:8080$") as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)
