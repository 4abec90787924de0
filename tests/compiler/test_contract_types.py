"""Which types and defaults a schema has in contract.py, in the words of each library."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiler.contracts import Library, contract_module, graph_with, line_of

REVIEW = {"$ref": "#/schemas/Review"}
ORDER = {"$ref": "#/schemas/Order"}


def text(**rules: object) -> dict[str, Any]:
    return {"type": "string", **rules}


def whole(**rules: object) -> dict[str, Any]:
    return {"type": "integer", **rules}


def number(**rules: object) -> dict[str, Any]:
    return {"type": "number", **rules}


def union(*members: object) -> dict[str, Any]:
    return {"anyOf": list(members)}


ALIKE: list[tuple[object, str]] = [
    (text(), "str"),
    (text(format="date-time"), "datetime.datetime"),
    (text(format="date"), "datetime.date"),
    (text(format="time"), "datetime.time"),
    (text(format="uuid"), "uuid.UUID"),
    (text(format="uuid4"), "uuid.UUID"),
    (text(format="decimal"), "decimal.Decimal"),
    (text(format="email"), "str"),
    (whole(), "int"),
    (number(), "float"),
    ({"type": "boolean"}, "bool"),
    ({"type": "null"}, "None"),
    ({"type": ["string", "null"]}, "str | None"),
    (union(whole(), text(), {"type": "null"}), "int | str | None"),
    ({"type": "string", "anyOf": [{"pattern": "a"}, {"pattern": "b"}]}, "str"),
    ({"type": "array", "items": text()}, "list[str]"),
    ({"type": "array"}, "list[typing.Any]"),
    ({"type": "array", "items": {"type": ["string", "null"]}}, "list[str | None]"),
    ({"type": "array", "items": text(), "uniqueItems": True}, "set[str]"),
    ({"type": "array", "items": union(whole(), text()), "uniqueItems": True}, "set[int | str]"),
    ({"type": "array", "items": REVIEW, "uniqueItems": True}, "list[Review]"),
    ({"type": "array", "prefixItems": [text()], "minItems": 1, "maxItems": 1}, "tuple[str]"),
    ({"type": "array", "prefixItems": [text(), whole()], "minItems": 2, "items": False}, "tuple[str, int]"),
    ({"type": "array", "prefixItems": [], "maxItems": 0}, "tuple[()]"),
    ({"type": "array", "prefixItems": [text()], "items": False}, "list[typing.Any]"),
    ({"type": "array", "prefixItems": [text()], "items": whole()}, "list[typing.Any]"),
    ({"type": "object"}, "dict[str, typing.Any]"),
    ({"type": "object", "properties": {"a": whole()}}, "dict[str, typing.Any]"),
    ({"type": "object", "additionalProperties": whole()}, "dict[str, int]"),
    ({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": whole()}, 'dict[typing.Literal["a", "b"], int]'),
    ({"type": "object", "propertyNames": {"format": "uuid"}, "additionalProperties": whole()}, "dict[uuid.UUID, int]"),
    ({"type": "object", "propertyNames": {"enum": [1]}, "additionalProperties": whole()}, "dict[str, int]"),
    ({"type": "object", "patternProperties": {"a": whole(), "b": text()}}, "dict[str, typing.Any]"),
    (REVIEW, "Review"),
    ({**REVIEW, "title": "with a remark"}, "Review"),
    ({"allOf": [REVIEW]}, "Review"),
    (union(REVIEW, {"type": "null"}), "Review | None"),
    ({"enum": ["a", "b"]}, 'typing.Literal["a", "b"]'),
    ({"enum": ["a", 1]}, 'typing.Literal["a", 1]'),
    ({"enum": [1, 2, None]}, "typing.Literal[1, 2] | None"),
    ({"enum": [None]}, "None"),
    ({"enum": [1.5, [1], {}]}, "float | list[typing.Any] | dict[str, typing.Any]"),
    ({"enum": [2**63, "a", 1]}, 'typing.Literal["a"] | int'),
    ({"const": 2**63}, "int"),
    ({"const": "it's"}, 'typing.Literal["it\'s"]'),
    ({"const": None}, "None"),
    ({"allOf": [text(), {"minLength": 1}]}, "typing.Any"),
    ({"$ref": "#/schemas/Missing"}, "typing.Any"),
    ({"$ref": "#/schemas/Review/properties/note"}, "typing.Any"),
    (union({}, text()), "typing.Any"),
    ({"anyOf": []}, "typing.Any"),
    ({"enum": []}, "typing.Any"),
    ({"type": "strange"}, "typing.Any"),
    ({"minimum": 1}, "typing.Any"),
    (True, "typing.Any"),
    (False, "typing.Any"),
    ({}, "typing.Any"),
]  # fmt: skip


@pytest.mark.parametrize("library", ["msgspec", "pydantic"])
@pytest.mark.parametrize(("schema", "written"), ALIKE)
def test_each_schema_has_its_type(schema: object, written: str, library: Library) -> None:
    assert line_of(schema, required=True, library=library) == f"x: {written}"


DIFFERENT: list[tuple[object, str, str]] = [
    (text(contentEncoding="base64"), "bytes", "pydantic_parts.Base64"),
    (text(format="base64"), "bytes", "pydantic_parts.Base64"),
    (text(format="duration"), "datetime.timedelta", "pydantic_parts.Duration"),
    (text(format="binary"), "str", "bytes"),
    ({"const": True}, "bool", "typing.Literal[True]"),
    ({"enum": [False, "a", 1]}, 'typing.Literal["a", 1] | bool', 'typing.Literal[False, "a", 1]'),
    (union(REVIEW, ORDER), "typing.Any", "Review | Order"),
    (union(REVIEW, {"type": "object"}), "typing.Any", "Review | dict[str, typing.Any]"),
    (union({"type": "object"}, {"type": "object", "additionalProperties": text()}), "dict[str, typing.Any]", "dict[str, typing.Any] | dict[str, str]"),
    (union(text(), {"enum": ["a"]}), "str", 'str | typing.Literal["a"]'),
    (union({"const": "a"}, {"const": "b"}), 'typing.Literal["a", "b"]', 'typing.Literal["a"] | typing.Literal["b"]'),
    (union(text(format="date"), text(), {"type": "null"}), "str | None", "datetime.date | str | None"),
    (union(number(), {"const": 1}), "float | int", "float | typing.Literal[1]"),
    (union(whole(), {"const": 1}), "int", "int | typing.Literal[1]"),
    (union({"type": "array", "items": text()}, {"type": "array", "items": whole()}), "list[typing.Any]", "list[str] | list[int]"),
    (union(whole(minimum=1), {"type": "array", "prefixItems": [text(minLength=1)], "minItems": 1}), "int | tuple[typing.Annotated[str, msgspec.Meta(min_length=1)]]", "typing.Annotated[int, pydantic.Field(ge=1)] | tuple[typing.Annotated[str, pydantic.Field(min_length=1)]]"),
    (union({"enum": ["a", 1]}, {"enum": ["b", 2]}), 'typing.Literal["a", "b"] | typing.Literal[1, 2]', 'typing.Literal["a", 1] | typing.Literal["b", 2]'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "struct", "model"), DIFFERENT)
def test_msgspec_tells_unions_apart_by_their_kind_of_json(
    schema: object, struct: str, model: str
) -> None:
    assert line_of(schema, required=True) == f"x: {struct}"
    assert line_of(schema, required=True, library="pydantic") == f"x: {model}"


RULES: list[tuple[object, str, str]] = [
    (whole(minimum=1, exclusiveMaximum=10), "int", "ge=1, lt=10"),
    (whole(minimum=0.5, maximum=2.5), "int", "ge=1, le=2"),
    (whole(exclusiveMinimum=0.5, exclusiveMaximum=2.5), "int", "gt=0, lt=3"),
    (whole(minimum=1, exclusiveMinimum=1), "int", "gt=1"),
    (whole(minimum=2, exclusiveMinimum=1), "int", "ge=2"),
    (whole(maximum=1, exclusiveMaximum=1), "int", "lt=1"),
    (whole(multipleOf=2.0), "int", "multiple_of=2"),
    (number(minimum=0, multipleOf=0.25), "float", "ge=0, multiple_of=0.25"),
    (text(minLength=1, maxLength=4.0, pattern="^a+$"), "str", 'min_length=1, max_length=4, pattern="^a+$"'),
    (text(pattern="(?=a)\\d"), "str", 'pattern="(?=a)\\\\d"'),
    ({"type": "array", "items": text(), "minItems": 1, "maxItems": 3}, "list[str]", "min_length=1, max_length=3"),
    ({"type": "object", "minProperties": 1}, "dict[str, typing.Any]", "min_length=1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("library", "rule"), [("msgspec", "msgspec.Meta"), ("pydantic", "pydantic.Field")]
)
@pytest.mark.parametrize(("schema", "written", "rules"), RULES)
def test_rules_are_those_of_the_library(
    schema: object, written: str, rules: str, library: Library, rule: str
) -> None:
    line = line_of(schema, required=True, library=library)
    assert line == f"x: typing.Annotated[{written}, {rule}({rules})]"


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (whole(minimum=2**63), "int"),
        (whole(multipleOf=0.5), "int"),
        (text(pattern="(?<name>a)"), "str"),  # JavaScript's
        (text(pattern="[[a]"), "str"),  # Python warns of it
        (text(pattern="a{99999999999}"), "str"),
        (text(maxLength=2**63), "str"),
        (text(format="date", minLength=10), "datetime.date"),
        (text(contentEncoding="base64", maxLength=4), "bytes"),
        (number(multipleOf=0.1), "float"),  # 0.3 is none, in binary
    ],
)
def test_rules_that_the_library_cannot_keep_are_left_out(schema: object, written: str) -> None:
    assert line_of(schema, required=True) == f"x: {written}"


DEFAULTS: list[tuple[object, str]] = [
    (whole(default=3), "x: int = 3"),
    (number(default=3), "x: float = 3"),
    (text(default='say "é"\n'), "x: str = 'say \"\\xe9\"\\n'"),
    ({"default": None}, "x: typing.Any = None"),
    ({"enum": ["a"], "default": "a"}, 'x: typing.Literal["a"] = "a"'),
    (union(text(), {"type": "null"}) | {"default": None}, "x: str | None = None"),
    ({"type": "array", "default": []}, "x: list[typing.Any] = []"),
    ({"type": "object", "default": {}}, "x: dict[str, typing.Any] = {}"),
    (text(format="date", default="2020-01-02"), "x: datetime.date = datetime.date(2020, 1, 2)"),
    (text(format="date-time", default="2020-01-02T03:04:05Z"), "x: datetime.datetime = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)"),
    (text(format="uuid", default="00000000-0000-0000-0000-000000000001"), 'x: uuid.UUID = uuid.UUID("00000000-0000-0000-0000-000000000001")'),
    (text(format="decimal", default="1.50"), 'x: decimal.Decimal = decimal.Decimal("1.50")'),
    ({"type": "array", "prefixItems": [whole()], "minItems": 1, "default": [1]}, "x: tuple[int] = (1,)"),
]  # fmt: skip


@pytest.mark.parametrize("library", ["msgspec", "pydantic"])
@pytest.mark.parametrize(("schema", "line"), DEFAULTS)
def test_a_default_is_a_value_of_its_type(schema: object, line: str, library: Library) -> None:
    assert line_of(schema, library=library) == line


FACTORIES: list[tuple[object, str, str]] = [
    ({"type": "array", "default": [{"a": True}]}, "list[typing.Any]", '[{"a": True}]'),
    ({"type": "array", "items": text(format="date"), "default": ["2020-01-02"]}, "list[datetime.date]", "[datetime.date(2020, 1, 2)]"),
    ({"type": "array", "items": text(), "uniqueItems": True, "default": ["a"]}, "set[str]", '{"a"}'),
    ({"type": "object", "additionalProperties": whole(), "default": {"a": 1}}, "dict[str, int]", '{"a": 1}'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("library", "field"), [("msgspec", "msgspec.field"), ("pydantic", "pydantic.Field")]
)
@pytest.mark.parametrize(("schema", "written", "value"), FACTORIES)
def test_a_default_that_can_change_is_made_anew(
    schema: object, written: str, value: str, library: Library, field: str
) -> None:
    line = line_of(schema, library=library)
    assert line == f"x: {written} = {field}(default_factory=lambda: {value})"


def test_a_model_is_a_default_if_it_is_right() -> None:
    right: dict[str, Any] = {**REVIEW, "default": {"approved": True}}
    wrong: dict[str, Any] = {**REVIEW, "default": {}}
    assert line_of(right).endswith(
        '(default_factory=lambda: msgspec.convert({"approved": True}, Review))'
    )
    assert line_of(right, library="pydantic").endswith(
        '(default_factory=lambda: Review.model_validate({"approved": True}))'
    )
    assert line_of(wrong) == "x: Review | msgspec.UnsetType = msgspec.UNSET"


@pytest.mark.parametrize(
    "default",
    ["a", 1.5, None, True, [], 10**400],
)
def test_a_default_that_its_own_type_refuses_is_none(default: object) -> None:
    schema = {"enum": [1, 2], "default": default}
    assert line_of(schema) == "x: typing.Literal[1, 2] | msgspec.UnsetType = msgspec.UNSET"


MISSING: list[tuple[object, str, str]] = [
    (whole(), "int | msgspec.UnsetType = msgspec.UNSET", "int | None = pydantic.Field(default_factory=pydantic_parts.missing)"),
    ({}, "typing.Any = msgspec.UNSET", "typing.Any = pydantic.Field(default_factory=pydantic_parts.missing_unless_given)"),
    (union(whole(), {"type": "null"}), "int | None | msgspec.UnsetType = msgspec.UNSET", "int | None = pydantic.Field(default_factory=pydantic_parts.missing_unless_given)"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "struct", "model"), MISSING)
def test_a_field_without_default_may_be_missing(schema: object, struct: str, model: str) -> None:
    assert line_of(schema) == f"x: {struct}"
    assert line_of(schema, library="pydantic") == f"x: {model}"


def test_a_default_and_another_key_stand_together() -> None:
    assert line_of(whole(default=1), key="a-b") == 'a_b: int = msgspec.field(default=1, name="a-b")'
    assert line_of(whole(default=1), key="a-b", library="pydantic") == (
        'a_b: int = pydantic.Field(default=1, validation_alias="a-b", serialization_alias="a-b")'
    )


def test_a_remark_stands_below_its_field() -> None:
    assert line_of(text(description=" What it says. ")) == '"""What it says."""'
    assert line_of(text(description='It is "so"\n')) == "'It is \"so\"'"


def test_a_duration_is_a_default_of_both_libraries() -> None:
    schema = text(format="duration", default="P1DT1H")
    value = "datetime.timedelta(days=1, seconds=3600)"
    assert line_of(schema) == f"x: datetime.timedelta = {value}"
    assert line_of(schema, library="pydantic") == f"x: pydantic_parts.Duration = {value}"


def test_models_are_told_apart_only_by_a_field_that_each_has() -> None:
    def kind(name: str, required: list[str]) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": name}}, "required": required}

    pet = union({"$ref": "#/schemas/Cat"}, {"$ref": "#/schemas/Dog"})
    named = line_of(pet, required=True, Cat=kind("cat", ["kind"]), Dog=kind("dog", ["kind"]))
    unnamed = line_of(pet, required=True, Cat=kind("cat", ["kind"]), Dog=kind("dog", []))
    assert (named, unnamed) == ("x: Cat | Dog", "x: typing.Any")


def test_sets_and_tuples_are_defaults_that_msgspec_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    lists: dict[str, Any] = {"type": "array", "items": text(), "uniqueItems": True, "default": []}
    pair = {"type": "array", "prefixItems": [{"type": "array"}], "minItems": 1, "default": [[1]]}
    model = {"type": "object", "properties": {"a": lists, "b": pair}}
    it = contract_module(graph_with({"Model": model}), monkeypatch)
    assert (it.Model().a, it.Model().b) == (set(), ([1],))
    assert it.Model().a is not it.Model().a
    assert it.Model().b[0] is not it.Model().b[0]
