"""Models: the JSON Schemas of a graph, which check documents and fill defaults (docs/graph-file.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import quote

import msgspec
from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError

from stateous.model.refusals import StateousError
from stateous.model.schema_sentences import say_problem

Json = Any
Document = dict[str, Json]
Schema = Mapping[str, Json]

REFERENCE = "#/schemas/"


class SchemaError(StateousError):
    """A model's schema is not valid JSON Schema, or refers to what is not there."""


class Models:
    """The models of one graph by name. Each validator is compiled once, at its first use.

    Integers are compared exactly whatever their length, `1.0` counts as an integer, a bool is no number,
    `format` is not checked, and nothing is ever fetched from elsewhere.
    """

    __slots__ = ("_defaults", "_schemas", "_validators")

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._schemas = schemas
        self._validators: dict[str, Draft202012Validator] = {}
        self._defaults: dict[str, dict[str, Callable[[], Json]]] = {}

    def __contains__(self, model: str) -> bool:
        return model in self._schemas

    def prepare(self, model: str) -> None:
        """Compile a model now. Raises SchemaError, with one sentence, when its schema is not valid."""
        self._validator(model)
        self._fills(model)

    def problem(self, model: str | None, document: Document) -> str | None:
        """None when the document fits its model; else one sentence that names the field.

        Without a model every object fits. The sentence never repeats a value that was sent.
        Raises SchemaError when the schema itself is broken, which `parse_graph` rules out.
        """
        if model is None:
            return None
        validator = self._validator(model)
        if validator.is_valid(document):
            return None
        return say_problem(next(validator.iter_errors(document)))

    def with_defaults(self, model: str | None, document: Document) -> Document:
        """Return a new document, with the default of each top-level property whose key is absent.

        null stays null and nested defaults are not filled. Each default is a copy of its own.
        """
        filled = dict(document)
        if model is None:
            return filled
        for key, default in self._fills(model).items():
            if key not in filled:
                filled[key] = default()
        return filled

    def _validator(self, model: str) -> Draft202012Validator:
        found = self._validators.get(model)
        if found is None:
            found = self._validators[model] = self._compiled(model)
        return found

    def _compiled(self, model: str) -> Draft202012Validator:
        # One root that holds all models, so that `#/schemas/<Name>` means in every model what it means
        # in the graph file.
        root = {"$ref": reference_to(model), "schemas": dict(self._schemas)}
        try:
            return Draft202012Validator(root, validate_formats=False, offline=True)
        except (ValidationError, ReferencingError, ValueError) as error:
            reason = " ".join(str(getattr(error, "message", error)).split())
            sentence = f"the schema of {model!r} is not valid: {reason[:200]}"
            raise SchemaError(sentence) from error

    def _fills(self, model: str) -> dict[str, Callable[[], Json]]:
        found = self._defaults.get(model)
        if found is None:
            found = self._defaults[model] = {
                key: _copier(schema["default"])
                for key, schema in self._properties(model).items()
                if isinstance(schema, Mapping) and "default" in schema
            }
        return found

    def _properties(self, model: str) -> Schema:
        """The top-level properties; a model that is nothing but another one has those of the other."""
        seen: set[str] = set()
        while model not in seen:
            seen.add(model)
            schema = self._schemas.get(model)
            if not isinstance(schema, Mapping):
                break
            schema = cast("Schema", schema)
            properties, aliased = schema.get("properties"), schema.get("$ref")
            if isinstance(properties, Mapping):
                return cast("Schema", properties)
            if not isinstance(aliased, str) or not aliased.startswith(REFERENCE):
                break
            model = aliased.removeprefix(REFERENCE)
        return {}


def reference_to(model: str) -> str:
    """Return the reference to a model as a JSON pointer in a URI fragment."""
    return REFERENCE + quote(model.replace("~", "~0").replace("/", "~1"))


def _copier(default: Json) -> Callable[[], Json]:
    if isinstance(default, list | dict):
        written = msgspec.json.encode(default)
        return lambda: msgspec.json.decode(written)
    return lambda: default
