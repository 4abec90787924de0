"""Models: what fits, what does not, and which defaults are filled (docs/graph-file.md)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.model.schemas import Models, SchemaError

HUGE = 10**400


def of(schema: object, **others: object) -> Models:
    return Models({"It": schema, **others})


def field(schema: object) -> Models:
    return of({"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize("number", [0, -1, 1.0, 2**63, 2**64, 2**70, 1e300, HUGE, -HUGE, 10**4299])
def test_an_integer_of_any_length_and_1_0_are_integers(number: float) -> None:
    assert field({"type": "integer"}).problem("It", {"x": number}) is None


@pytest.mark.parametrize("thing", [1.5, True, False, "1", None, [1], {}])
def test_nothing_else_is_an_integer(thing: object) -> None:
    assert field({"type": "integer"}).problem("It", {"x": thing}) == "'x' must be an integer"


def test_a_bool_is_no_number() -> None:
    assert field({"type": "number"}).problem("It", {"x": True}) == "'x' must be a number"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"maximum": HUGE}, HUGE, HUGE + 1),
        ({"exclusiveMinimum": -HUGE}, 1 - HUGE, -HUGE),
        ({"minimum": 2**53 + 1}, 2**53 + 1, float(2**53)),
        ({"const": 2**53 + 1}, 2**53 + 1, float(2**53)),
        ({"enum": [HUGE]}, HUGE, HUGE + 1),
        ({"multipleOf": 3}, 3 * HUGE, 3 * HUGE + 1),
        ({"const": 1}, 1.0, True),
        ({"uniqueItems": True}, [1, True, HUGE], [1, 1.0]),
    ],
)
def test_numbers_are_compared_exactly(schema: object, good: object, bad: object) -> None:
    assert field(schema).problem("It", {"x": good}) is None
    assert field(schema).problem("It", {"x": bad}) is not None


def test_format_is_not_checked() -> None:
    assert field({"type": "string", "format": "date-time"}).problem("It", {"x": "soon"}) is None
    assert field({"format": "email"}).problem("It", {"x": "nobody"}) is None


def test_models_refer_to_each_other() -> None:
    models = of(
        {"type": "object", "properties": {"lines": {"items": {"$ref": "#/schemas/Line"}}}},
        Line={
            "type": "object",
            "required": ["sku"],
            "properties": {"next": {"$ref": "#/schemas/Line"}},
        },
    )
    assert models.problem("It", {"lines": [{"sku": 1, "next": {"sku": 2}}]}) is None
    assert (
        models.problem("It", {"lines": [{"sku": 1, "next": {}}]})
        == "'lines[0].next.sku' is missing"
    )


def test_a_model_may_have_any_name() -> None:
    models = Models({"a/b~c %é": {"type": "object", "required": ["x"]}})
    assert models.problem("a/b~c %é", {}) == "'x' is missing"


def test_without_a_model_every_object_fits() -> None:
    assert of({}).problem(None, {"anything": [HUGE, None]}) is None


@pytest.mark.parametrize(
    ("schema", "document", "sentence"),
    [
        ({"required": ["a", "b"]}, {}, "'a' is missing"),
        ({"properties": {"a": {"type": ["null", "string"]}}}, {"a": 1}, "'a' must be a string or null"),
        ({"additionalProperties": False}, {"a": 1}, "it has a key, and the model knows none"),
        (
            {"additionalProperties": False, "properties": {"x": {}}},
            dict.fromkeys("abcde"),
            "it has 'a', 'b', 'c' and 2 more, which the model does not know",
        ),
        ({"properties": {"x": {"properties": {"a": {}}, "additionalProperties": False}}}, {"x": {"b": 1}}, "'x' has 'b', which the model does not know"),
        ({"properties": {"a": {"enum": ["x", 1, None, True]}}}, {"a": 2}, "'a' must be one of 'x', 1, null, true"),
        ({"properties": {"a": {"minimum": 0.5}}}, {"a": 0}, "'a' must be at least 0.5"),
        ({"properties": {"a": {"maxLength": 2}}}, {"a": "xyz"}, "'a' must have at most 2 characters"),
        ({"properties": {"a": {"pattern": "^x"}}}, {"a": "y"}, "'a' must match the pattern '^x'"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [1, "x"]}, "'a[1]' must be an integer"),
        ({"properties": {"a": False}}, {"a": 1}, "'a' is not allowed by the model"),
        ({"minProperties": 1}, {}, "it must have at least 1 keys"),
        (
            {"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}},
            {"a": "x"},
            "'a' must be an integer or null",
        ),
        (
            {"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["b"]}]}}},
            {"a": {}},
            "'a.b' is missing",
        ),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "it has a key that is not allowed: its name must have at most 1 characters"),
        ({"not": {}}, {}, "it does not fit the model"),
    ],
)  # fmt: skip
def test_a_problem_is_a_sentence_that_names_the_field(
    schema: object, document: dict[str, Any], sentence: str
) -> None:
    assert of(schema).problem("It", document) == sentence


def test_a_sentence_is_short_and_never_repeats_what_was_sent() -> None:
    secret = "secret" * 200_000
    models = of(
        {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "integer"}}
    )
    for document in ({"a": secret}, {"a": [secret]}, {"a": {secret: secret}}):
        assert models.problem("It", document) == "'a' must be an integer"
    named = models.problem("It", {"x" * 1_000_000: "no"})
    assert named is not None
    assert len(named) < 400
    options = field({"enum": ["y" * 1000] * 500}).problem("It", {"x": 1})
    assert options is not None
    assert len(options) < 400


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "bogus"},
        {"pattern": "("},
        {"$ref": "#/schemas/Missing"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"minimum": "1"},
        5,
    ],
)
def test_a_broken_schema_is_told_in_one_sentence(schema: object) -> None:
    with pytest.raises(SchemaError, match=r"the schema of 'It' is not valid: .+") as refused:
        of(schema).prepare("It")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "note": {"default": ""},
        "tags": {"default": []},
        "nothing": {"default": None},
        "inner": {"type": "object", "properties": {"deep": {"default": 1}}},
        "huge": {"default": HUGE},
    },
}


def test_defaults_of_absent_keys_are_filled() -> None:
    filled = of(DEFAULTS).with_defaults("It", {"title": "t", "inner": {}, "more": 1})
    assert filled == {
        "title": "t", "inner": {}, "more": 1, "note": "", "tags": [], "nothing": None, "huge": HUGE,
    }  # fmt: skip


def test_a_null_stays_null() -> None:
    assert of(DEFAULTS).with_defaults("It", {"tags": None, "note": None})["tags"] is None


def test_the_document_is_left_alone_and_no_default_is_shared() -> None:
    models, document = of(DEFAULTS), dict[str, Any]()
    one, other = models.with_defaults("It", document), models.with_defaults("It", document)
    one["tags"].append("mine")
    assert other["tags"] == []
    assert document == {}
    assert models.with_defaults(None, document) is not document


def test_a_model_that_is_only_another_one_has_its_defaults() -> None:
    models = of({"$ref": "#/schemas/Real"}, Real=DEFAULTS)
    assert models.with_defaults("It", {})["note"] == ""
    loop = of({"$ref": "#/schemas/Other"}, Other={"$ref": "#/schemas/It"})
    assert loop.with_defaults("It", {}) == {}
