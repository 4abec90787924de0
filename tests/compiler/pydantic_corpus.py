"""Models of pydantic with all that they can say, and JSON that fits them or does not."""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import pathlib
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID

from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
)
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

from tests.compiler.cases import Case

Item = TypeVar("Item")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    RED = "red"
    ONE = 1


class Rate(enum.Enum):
    HALF = 0.5
    FULL = 1.5


class PPlain(BaseModel):
    __doc__ = "What \"it\" is,\n'''in' two lines\\."

    text: str
    whole: int
    number: float
    yes: bool
    nothing: None
    anything: Any
    json_value: JsonValue


class PTexts(BaseModel):
    moment: AwareDatetime
    local: datetime
    day: date
    hour: time
    long: timedelta
    key: UUID
    key4: UUID4
    price: Decimal
    raw: bytes
    base64: Base64Bytes
    url: AnyUrl
    address: ipaddress.IPv4Address
    path: pathlib.Path


class PChoices(BaseModel):
    colour: Colour
    mixed: Mixed
    rate: Rate
    literal: Literal["a", 1, True] | None
    one: Literal["only"]


class PCat(BaseModel):
    kind: Literal["cat"]
    name: str


class PDog(BaseModel):
    kind: Literal["dog"] = "dog"
    age: int


class POwner(BaseModel):
    pet: Annotated[PCat | PDog, Field(discriminator="kind")]
    untagged: PCat | PDog | None = None
    pets: list[Annotated[PCat | PDog, Field(discriminator="kind")]] = []


class Left(BaseModel):
    left: int


class Right(BaseModel):
    right: int


class PUnions(BaseModel):
    side: Left | Right
    scalar: int | float | str | bool | None
    day: date | str | None = None
    many: str | list[int] | list[str] | dict[str, int] = ""
    price: Decimal = Decimal("1.50")


class POptionals(BaseModel):
    given: int | None
    nothing: int | None = None
    numbers: list[int] = []
    made: list[int] = Field(default_factory=lambda: [1], description="""Some "numbers".""")
    inner: Left = Left(left=1)
    inner_made: Left = Field(default_factory=lambda: Left(left=2))
    maybe_made: int | None = Field(default_factory=lambda: None)
    day: date = date(2020, 1, 2)
    moment: datetime = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001  # local time
    long: timedelta = timedelta(days=1, hours=1)
    key: UUID = UUID(int=1)
    colour: Colour = Colour.RED
    some: frozenset[int] = frozenset({1})
    pair: tuple[int, int] = (1, 2)
    raw: bytes = b"x"


class PRules(BaseModel):
    small: Annotated[int, Field(ge=1, lt=10, title="T", description='"It" is\n\\small')]
    even: Annotated[int, Field(gt=0, le=10, multiple_of=2)]
    tenth: Annotated[float, Field(ge=0.1, lt=10, multiple_of=0.1)]
    text: Annotated[str, Field(min_length=1, max_length=4, pattern="^[a-z]+$")]
    numbers: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=2)]
    table: Annotated[dict[str, int], Field(max_length=1)]


class PLook(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")

    text: Annotated[str, Field(pattern="^(?=.*a)[a-z]+$")]


class PPoint(NamedTuple):
    x: int
    y: int = 0


class PLists(BaseModel):
    names: set[str]
    pair: tuple[int, str]
    row: tuple[int, ...]
    point: PPoint
    nested: list[list[PPoint]]


class PTables(BaseModel):
    counts: dict[str, int]
    numbers: dict[int, str]
    choices: dict[Literal["a", "b"], int]
    colours: dict[Colour, int]
    keys: dict[UUID, date]


class PNode(BaseModel):
    value: int
    left: PNode | None = None
    others: list[PNode] = []
    named: dict[str, PNode] = {}


class PClosed(BaseModel, extra="forbid"):
    a: int


class POpen(BaseModel, extra="allow"):
    a: int


class PCounts(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, int] = Field(init=False)  # type: ignore[assignment]
    a: int = 1


class PKeeper(BaseModel):
    open: POpen
    counts: PCounts


class PRenamed(BaseModel):
    from_: int = Field(alias="from")
    class_: int = Field(default=1, alias="class")
    odd: int = Field(default=2, alias='it\'s "odd"')
    one: int = Field(default=3, alias="1")
    private: int = Field(default=4, alias="_private")
    json_: int = Field(default=5, alias="json")
    config: int = Field(default=6, alias="model_config")
    name: int = Field(default=7, alias="model_name")


class PBox(BaseModel, Generic[Item]):
    item: Item
    more: list[Item] = []


class PNumbers(RootModel[list[int]]):
    pass


class PBoxes(BaseModel):
    numbers: PBox[int]
    colours: PBox[Colour]
    boxes: PBox[PBox[str]]
    root: PNumbers


@dataclass
class PParcel:
    weight: int
    tags: list[str] = dataclasses.field(default_factory=list[str])
    note: str | None = None


class PLoose(TypedDict):
    name: str
    age: NotRequired[int]
    nothing: NotRequired[int | None]


class PTogether(BaseModel):
    parcel: PParcel
    loose: PLoose


KEY = "12345678-1234-4678-9234-567812345678"

_TEXTS = {
    "moment": "2020-01-02T03:04:05Z", "local": "2020-01-02T03:04:05", "day": "2020-01-02", "hour": "03:04:05",
    "long": "P365D", "key": KEY, "key4": KEY, "price": "1.50", "raw": "é", "base64": "aGVsbG8=",
    "url": "http://a.example", "address": "127.0.0.1", "path": "a/b",
}  # fmt: skip

_CHOICES = {"colour": "red", "mixed": 1, "rate": 0.5, "literal": "a", "one": "only"}

CASES = [
    Case(
        PPlain,
        [
            {"text": "é\U0001f600", "whole": 2**70, "number": 0.5, "yes": True, "nothing": None, "anything": [{"a": None}], "json_value": {"a": [1.5, None]}},
            {"text": "", "whole": 1.0, "number": 3, "yes": False, "nothing": None, "anything": 1, "json_value": None},
        ],
        [{}, {"text": 1, "whole": 1, "number": 1, "yes": True, "nothing": None, "anything": 1, "json_value": 1}],
    ),
    Case(PTexts, [_TEXTS, {**_TEXTS, "price": 1.5, "moment": "2020-01-02T03:04:05.500000+02:00", "base64": "+/+/"}], [{**_TEXTS, "price": None}, {**_TEXTS, "day": 1}]),
    Case(
        PChoices,
        [_CHOICES, {**_CHOICES, "mixed": "red", "literal": 1}, {**_CHOICES, "rate": 1.5, "literal": None}, {**_CHOICES, "literal": True}],
        [{**_CHOICES, "colour": "green"}, {**_CHOICES, "mixed": 2}, {**_CHOICES, "literal": False}, {**_CHOICES, "rate": 0.7}],
        looser={"msgspec": {2, 3}, "pydantic": {3}},
    ),
    Case(
        POwner,
        [
            {"pet": {"kind": "cat", "name": "x"}, "untagged": {"kind": "cat", "name": "x"}},
            {"pet": {"kind": "dog", "age": 1}, "pets": [{"kind": "dog", "age": 1}, {"kind": "cat", "name": "y"}]},
        ],
        [{"pet": {"name": "x"}}, {"pet": {"kind": "cow", "age": 1}}, {"pet": {"kind": "cat", "age": 1}}],
    ),
    Case(
        PUnions,
        [
            {"side": {"left": 1}, "scalar": 1, "day": "2020-01-02", "many": ["a"], "price": 1.5},
            {"side": {"right": 1}, "scalar": 1.5, "day": "soon", "many": [1], "price": "1.50"},
            {"side": {"right": 1}, "scalar": True, "many": {"a": 1}},
            {"side": {"right": 1}, "scalar": "1", "many": "[1]", "day": None},
            {"side": {"right": 1}, "scalar": None, "many": []},
        ],
        [{"side": {"left": 1}, "scalar": []}, {"side": {}, "scalar": 1}, {"side": {"left": 1}, "scalar": 1, "many": [True]}],
        looser={"msgspec": {1, 2}},
    ),
    Case(
        POptionals,
        [
            {"given": None},
            {"given": 1, "made": [], "inner": {"left": 3}, "inner_made": {"left": 4}, "maybe_made": None, "some": [3, 1, 2], "pair": [3, 4]},
        ],
        [{}, {"given": 1, "made": None}, {"given": 1, "inner_made": None}],
        missing={"made", "inner_made", "maybe_made"},
        looser={"pydantic": {1, 2}},
    ),
    Case(
        PRules,
        [
            {"small": 1, "even": 2, "tenth": 0.3, "text": "abcd", "numbers": [0], "table": {"ab": 1}},
            {"small": 9, "even": 10, "tenth": 9.9, "text": "a", "numbers": [0, 1], "table": {}},
        ],
        [
            {"small": 10, "even": 2, "tenth": 0.3, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 3, "tenth": 0.3, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "tenth": 0.35, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "tenth": 0.3, "text": "ABC", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "tenth": 0.3, "text": "abcd", "numbers": [], "table": {}},
            {"small": 1, "even": 2, "tenth": 0.3, "text": "abcd", "numbers": [0], "table": {"a": 1, "b": 2}},
        ],
        looser={"msgspec": {2}},
    ),
    Case(PLook, [{"text": "bab"}], [{"text": "bbb"}]),
    Case(
        PLists,
        [
            {"names": ["b", "a"], "pair": [1, "a"], "row": [1, 2, 3], "point": [1, 2], "nested": [[[1, 2]], []]},
            {"names": [], "pair": [1, ""], "row": [], "point": [1, 0], "nested": []},
        ],
        [{"names": ["a", "a"], "pair": [1, ""], "row": [], "point": [1], "nested": []}, {"names": [], "pair": [1], "row": [], "point": [1], "nested": []}],
    ),
    Case(
        PTables,
        [{"counts": {"é": 1}, "numbers": {"1": "a"}, "choices": {"b": 1}, "colours": {"red": 1}, "keys": {KEY: "2020-01-02"}}],
        [{"counts": {}, "numbers": {}, "choices": {"c": 1}, "colours": {}, "keys": {}}, {"counts": {}, "numbers": {}, "choices": {}, "colours": {"green": 1}, "keys": {}}],
    ),
    Case(
        PNode,
        [{"value": 1, "left": {"value": 2, "left": None}, "others": [{"value": 3}], "named": {"a": {"value": 4}}}],
        [{"value": 1, "left": {}}, {"value": 1, "others": [None]}],
    ),
    Case(PClosed, [{"a": 1}], [{"a": 1, "b": 2}]),
    Case(POpen, [{"a": 1}, {"a": 1, "b": [2], "model_dump": 3}], [{"b": 1}]),
    Case(
        PKeeper,
        [{"open": {"a": 1, "b": {}}, "counts": {"a": 1, "b": 2}}],
        [{"open": {"a": 1}, "counts": {"b": "2"}}],
        looser={"msgspec": {0}},
    ),
    Case(
        PRenamed,
        [
            {"from": 1},
            {"from": 1, "class": 9, "it's \"odd\"": 9, "1": 9, "_private": 9, "json": 9, "model_config": 9, "model_name": 9},
        ],
        [{"from_": 1}],
    ),
    Case(
        PBoxes,
        [{"numbers": {"item": 1, "more": [2]}, "colours": {"item": "red"}, "boxes": {"item": {"item": "x"}}, "root": [1]}],
        [{"numbers": {"item": "1"}, "colours": {"item": "red"}, "boxes": {"item": {"item": "x"}}, "root": []}],
    ),
    Case(
        PTogether,
        [
            {"parcel": {"weight": 1}, "loose": {"name": "x"}},
            {"parcel": {"weight": 1, "tags": ["a"], "note": "x"}, "loose": {"name": "x", "age": 1, "nothing": None}},
        ],
        [{"parcel": {}, "loose": {"name": "x"}}, {"parcel": {"weight": 1}, "loose": {}}],
        missing={"tags", "age", "nothing"},
    ),
]  # fmt: skip
