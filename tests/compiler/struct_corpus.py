"""Models of msgspec, dataclasses and TypedDicts with all that they can say, and JSON that fits them or does not."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, Required, TypedDict, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tests.compiler.cases import Case

Item = TypeVar("Item")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Plain(Struct):
    __doc__ = "What \"it\" is,\n'''in' two lines\\."

    text: str
    whole: int
    number: float
    yes: bool
    nothing: None
    anything: Any


class Texts(Struct):
    moment: Annotated[datetime, Meta(tz=True)]
    local: datetime
    day: date
    hour: Annotated[time, Meta(tz=True)]
    long: timedelta
    key: UUID
    price: Decimal
    raw: bytes


class Choices(Struct):
    colour: Colour
    size: Size
    texts: Literal["a", "b"]
    mixed: Literal["a", 1] | None
    one: Literal["only"]


class Cat(Struct, tag=True):
    name: str


class Dog(Struct, tag="woof"):
    age: int


class Owner(Struct):
    pet: Cat | Dog
    other: Cat | Dog | None = None
    pets: list[Cat | Dog] = []


class Up(Struct, tag_field="to", tag=1):
    steps: int


class Down(Struct, tag_field="to", tag=2):
    steps: int


class Unions(Struct):
    way: Up | Down
    scalar: int | float | str | bool | None
    many: str | list[int] | dict[str, int]
    maybe: date | None = None


class Optionals(Struct):
    given: int | None
    nothing: int | None = None
    text: str = 'say "é" \\ \n'
    numbers: list[int] = []
    table: dict[str, int] = {}
    unset: int | UnsetType = UNSET
    unset_or_null: int | UnsetType | None = UNSET
    made: list[int] = msgspec.field(default_factory=lambda: [1])
    inner: Plain | UnsetType = UNSET
    day: date = date(2020, 1, 2)
    moment: datetime = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001  # local time
    long: timedelta = timedelta(days=1, hours=1)
    key: UUID = UUID(int=1)
    price: Decimal = Decimal("1.50")
    colour: Colour = Colour.RED
    some: frozenset[int] = frozenset({1})
    pair: tuple[int, int] = (1, 2)


class Rules(Struct):
    small: Annotated[int, Meta(ge=1, lt=10, title="T", description='"It" is\n\\small')]
    even: Annotated[int, Meta(gt=0, le=10, multiple_of=2)]
    half: Annotated[float, Meta(ge=0.5, lt=10, multiple_of=0.5)]
    text: Annotated[str, Meta(min_length=1, max_length=4, pattern="^[a-z]+$")]
    numbers: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1, max_length=2)]
    table: Annotated[dict[Annotated[str, Meta(pattern="^a")], int], Meta(max_length=1)]


class Point(NamedTuple):
    x: int
    y: int = 0


class Line(Struct, array_like=True):
    start: Point
    end: Point


class Lists(Struct):
    names: set[str]
    numbers: frozenset[int]
    pair: tuple[int, str]
    row: tuple[int, ...]
    point: Point
    line: Line
    nested: list[list[Point]]
    pairs: dict[str, tuple[int, int]]


class Tables(Struct):
    counts: dict[str, int]
    choices: dict[Literal["a", "b"], int]
    days: dict[str, dict[str, date]]
    free: dict[str, Any]


class Node(Struct):
    value: int
    left: Node | None = None
    others: list[Node] = []
    named: dict[str, Node] = {}


class Closed(Struct, forbid_unknown_fields=True):
    a: int


class Renamed(Struct, rename="camel"):
    due_date: date
    from_: int = msgspec.field(name="from")
    class_: int = msgspec.field(name="class", default=1)
    odd: int = msgspec.field(name="it's odd", default=2)
    one: int = msgspec.field(name="1", default=3)
    private: int = msgspec.field(name="_private", default=4)
    json: int = 5
    model_dump: int = 6


class Box(Struct, Generic[Item]):
    item: Item
    more: list[Item] = []


class Boxes(Struct):
    numbers: Box[int]
    colours: Box[Colour]


@dataclass
class Parcel:
    weight: int
    tags: list[str] = field(default_factory=list[str])
    made: list[int] = field(default_factory=lambda: [1])
    note: str | None = None


class Loose(TypedDict, total=False):
    name: Required[str]
    age: int
    nothing: int | None


class Together(Struct):
    parcel: Parcel
    loose: Loose
    parcels: list[Parcel] = []


KEY = "12345678-1234-5678-1234-567812345678"

CASES = [
    Case(
        Plain,
        [
            {"text": "é\U0001f600", "whole": 2**70, "number": 0.5, "yes": True, "nothing": None, "anything": [{"a": None}]},
            {"text": "", "whole": 1.0, "number": 3, "yes": False, "nothing": None, "anything": 1},
        ],
        [{}, {"text": 1, "whole": 1, "number": 1, "yes": True, "nothing": None, "anything": 1}],
    ),
    Case(
        Texts,
        [
            {"moment": "2020-01-02T03:04:05Z", "local": "2020-01-02T03:04:05", "day": "2020-01-02", "hour": "03:04:05Z", "long": "PT3S", "key": KEY, "price": "1.50", "raw": "aGVsbG8="},
            {"moment": "2020-01-02T03:04:05.500000+02:00", "local": "x", "day": "0001-01-01", "hour": "03:04:05.500000+01:00", "long": "-P1D", "key": KEY, "price": "-0.1", "raw": ""},
        ],
        [{"moment": 1}],
    ),
    Case(
        Choices,
        [
            {"colour": "red", "size": 2, "texts": "b", "mixed": 1, "one": "only"},
            {"colour": "blue", "size": 1, "texts": "a", "mixed": None, "one": "only"},
            {"colour": "blue", "size": 1, "texts": "a", "mixed": "a", "one": "only"},
        ],
        [
            {"colour": "green", "size": 1, "texts": "a", "mixed": "a", "one": "only"},
            {"colour": "red", "size": 3, "texts": "a", "mixed": "a", "one": "only"},
            {"colour": "red", "size": 1, "texts": "a", "mixed": "b", "one": "only"},
            {"colour": "red", "size": 1, "texts": "a", "mixed": "a", "one": "other"},
        ],
    ),
    Case(
        Owner,
        [
            {"pet": {"type": "Cat", "name": "x"}},
            {"pet": {"type": "woof", "age": 1}, "other": {"type": "Cat", "name": "x"}, "pets": [{"type": "woof", "age": 1}, {"type": "Cat", "name": "y"}]},
        ],
        [{"pet": {"name": "x"}}, {"pet": {"type": "Dog", "age": 1}}, {"pet": {"type": "Cat", "age": 1}}],
    ),
    Case(
        Unions,
        [
            {"way": {"to": 1, "steps": 1}, "scalar": 1, "many": "x", "maybe": "2020-01-02"},
            {"way": {"to": 2, "steps": 1}, "scalar": 1.5, "many": [1]},
            {"way": {"to": 2, "steps": 1}, "scalar": True, "many": {"a": 1}, "maybe": None},
            {"way": {"to": 2, "steps": 1}, "scalar": None, "many": {}},
            {"way": {"to": 2, "steps": 1}, "scalar": "1", "many": "[1]"},
        ],
        [{"way": {"to": 3, "steps": 1}, "scalar": 1, "many": "x"}, {"way": {"to": 1, "steps": 1}, "scalar": [], "many": ""}],
    ),
    Case(
        Optionals,
        [
            {"given": None},
            {"given": 1, "unset": 2, "unset_or_null": None, "made": [], "inner": {"text": "", "whole": 1, "number": 1.5, "yes": True, "nothing": None, "anything": {}}, "some": [3, 1, 2], "pair": [3, 4], "table": {"a": 1}},
        ],
        [{}, {"given": 1, "colour": "green"}, {"given": 1, "unset": None}, {"given": 1, "inner": None}],
        missing={"unset", "unset_or_null", "made", "inner"},
        looser={"pydantic": {2, 3}},
    ),
    Case(
        Rules,
        [{"small": 1, "even": 2, "half": 0.5, "text": "abcd", "numbers": [0], "table": {"ab": 1}}],
        [
            {"small": 10, "even": 2, "half": 0.5, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 3, "half": 0.5, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "half": 0.7, "text": "abcd", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "half": 0.5, "text": "ABC", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "half": 0.5, "text": "abcde", "numbers": [0], "table": {}},
            {"small": 1, "even": 2, "half": 0.5, "text": "abcd", "numbers": [-1], "table": {}},
            {"small": 1, "even": 2, "half": 0.5, "text": "abcd", "numbers": [], "table": {}},
            {"small": 1, "even": 2, "half": 0.5, "text": "abcd", "numbers": [0], "table": {"b": 1}},
        ],
        looser={"pydantic": {7}},
    ),
    Case(
        Lists,
        [
            {"names": ["b", "a"], "numbers": [2, 1], "pair": [1, "a"], "row": [1, 2, 3], "point": [1, 2], "line": [[1, 2], [3, 4]], "nested": [[[1, 2]], []], "pairs": {"a": [1, 2]}},
            {"names": [], "numbers": [], "pair": [1, ""], "row": [], "point": [1, 0], "line": [[1, 0], [3, 0]], "nested": [], "pairs": {}},
        ],
        [{"names": [], "numbers": [], "pair": [1], "row": [], "point": [1, 0], "line": [[1, 0], [3, 0]], "nested": [], "pairs": {}}],
    ),
    Case(
        Tables,
        [{"counts": {"é": 1}, "choices": {"b": 1}, "days": {"x": {"y": "2020-01-02"}}, "free": {"": [None]}}],
        [{"counts": {"a": "1"}, "choices": {}, "days": {}, "free": {}}, {"counts": {}, "choices": {"c": 1}, "days": {}, "free": {}}],
    ),
    Case(
        Node,
        [{"value": 1, "left": {"value": 2, "left": None}, "others": [{"value": 3}], "named": {"a": {"value": 4}}}],
        [{"value": 1, "left": {}}, {"value": 1, "others": [None]}],
    ),
    Case(Closed, [{"a": 1}], [{"a": 1, "b": 2}]),
    Case(
        Renamed,
        [
            {"dueDate": "2020-01-02", "from": 1},
            {"dueDate": "2020-01-02", "from": 1, "class": 9, "it's odd": 9, "1": 9, "_private": 9, "json": 9, "modelDump": 9},
        ],
        [{"due_date": "2020-01-02", "from_": 1}],
    ),
    Case(
        Boxes,
        [{"numbers": {"item": 1, "more": [2]}, "colours": {"item": "red"}}],
        [{"numbers": {"item": "1"}, "colours": {"item": "red"}}],
    ),
    Case(
        Together,
        [
            {"parcel": {"weight": 1}, "loose": {"name": "x"}},
            {"parcel": {"weight": 1, "tags": ["a"], "made": [2], "note": "x"}, "loose": {"name": "x", "age": 1, "nothing": None}, "parcels": [{"weight": 2}]},
        ],
        [{"parcel": {}, "loose": {"name": "x"}}, {"parcel": {"weight": 1}, "loose": {}}],
        missing={"made", "age", "nothing"},
    ),
]  # fmt: skip
