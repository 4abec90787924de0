"""JSON Schemas of the models that flow.py names: msgspec Structs, dataclasses, TypedDicts, pydantic models."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast, is_typeddict

import msgspec

from stateous.compiler.domain_words import say_domain, say_value
from stateous.compiler.problems import Problem, shown
from stateous.compiler.proof.schema_domains import Domains
from stateous.model.schemas import REFERENCE
from stateous.model.workflow import Declared

Schema = dict[str, Any]


class ModelSchemas:
    """The schemas of a workflow's models by name, the name of each model, and what went wrong."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self.problems: list[Problem] = []
        self._names: dict[int, str] = {}

    def name_of(self, model: type[Any] | None) -> str | None:
        """The name of a model; None for no model, and for one that has a problem."""
        return None if model is None else self._names.get(id(model))

    def fields_of(self, name: str | None) -> frozenset[str] | None:
        """The fields that a model has; None when any key may be there."""
        schema = self.schemas.get(name or "")
        if schema is None or schema.get("additionalProperties") or schema.get("patternProperties"):
            return None
        return frozenset(schema.get("properties", ()))

    def required_of(self, name: str | None) -> frozenset[str]:
        """The fields that must be given: required ones that no default fills."""
        schema = self.schemas.get(name or "", {})
        properties: Mapping[str, Any] = schema.get("properties", {})
        return frozenset(
            key for key in schema.get("required", ()) if "default" not in properties.get(key, {})
        )

    @cached_property
    def domains(self) -> Domains:
        """The values that fields can have; asked for when all models are here."""
        return Domains(msgspec.json.decode(msgspec.json.encode(self.schemas)))

    def add(
        self,
        models: list[type[Any]],
        references: Iterable[Schema],
        schemas: Mapping[str, Schema],
    ) -> None:
        """Keep the schemas of models, and of what they are made of; each model has a reference to its own."""
        for model, reference in zip(models, references, strict=True):
            self._names[id(model)] = str(reference["$ref"]).removeprefix(REFERENCE)
        for name, schema in schemas.items():
            if self.schemas.setdefault(name, schema) != schema:
                self.problems.append(Problem(f"different models have the name '{name}'"))


class Use(msgspec.Struct, frozen=True):
    """A model that is used as `place` says ("the payload of event 'reviewed'"), declared there."""

    place: str
    model: type[Any]
    declared: Declared


def schemas_of(uses: Iterable[Use]) -> ModelSchemas:
    """Return the schemas of the models that are used.

    Call it while the modules of flow.py are imported: annotations are looked up in them.
    """
    found = ModelSchemas()
    plain: list[type[Any]] = []
    pydantic: list[type[Any]] = []
    for use in uses:
        model = use.model
        if any(model is known for known in (*plain, *pydantic)):
            continue
        problem = _problem(model)
        if problem:
            found.problems.append(Problem(f"{use.place}: {problem}", (use.declared,)))
        else:
            (pydantic if _is_pydantic(model) else plain).append(model)
    if plain:
        references, schemas = msgspec.json.schema_components(
            plain, ref_template=REFERENCE + "{name}"
        )
        found.add(plain, references, schemas)
    if pydantic:
        references, schemas = _pydantic_schemas(pydantic)
        found.add(pydantic, references, schemas)
    found.problems.extend(_name_problems(found.schemas))
    found.problems.extend(_default_problems(found.schemas, found.domains))
    return found


def _name_problems(schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Models that the contract cannot name. msgspec calls two of one name by their modules."""
    alike: dict[str, list[str]] = {}
    for name in sorted(schemas):
        if "." in name:
            alike.setdefault(str(schemas[name].get("title", name)), []).append(name)
        elif not name.isidentifier():
            yield Problem(f"the model '{name}' has a name that is no Python name")
    for title, names in alike.items():
        yield Problem(f"different models have the name '{title}': {', '.join(names)}")


def _default_problems(schemas: Mapping[str, Schema], domains: Domains) -> Iterator[Problem]:
    """Defaults that their own model refuses: a token could not start with one, nor an event carry it."""
    for name, schema in schemas.items():
        properties: Mapping[str, Any] = schema.get("properties", {})
        for key, field in properties.items():
            if not isinstance(field, dict) or "default" not in field:
                continue
            domain = domains.of(field)
            default = msgspec.json.decode(msgspec.json.encode(cast("Schema", field)["default"]))
            if not domain.has(default):
                yield Problem(
                    f"the default of '{key}' in the model '{name}' is {say_value(default)}, "
                    f"and it is {say_domain(domain)}"
                )


def _problem(model: object) -> str | None:
    """Why a model cannot be used; None when it can."""
    called = model.__name__ if isinstance(model, type) else shown(model)
    if not _is_model(model):
        return f"{called} is no model: use a msgspec Struct, a dataclass, a TypedDict or a pydantic model"
    model = cast("type[Any]", model)
    try:
        if _is_pydantic(model):
            (reference,), schemas = _pydantic_schemas([model])
        else:
            (reference,), schemas = msgspec.json.schema_components([model])
        msgspec.json.encode(schemas)
    except Exception as error:  # noqa: BLE001  # annotations of the user's are evaluated here
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
        # msgspec ends with what it means; pydantic begins with it.
        said = lines[0] if _is_pydantic(model) else lines[-1]
        return f"{called} cannot be written as JSON Schema: {said[:200]}"
    schema = schemas[str(reference["$ref"]).rpartition("/")[2]]
    return None if schema.get("type") == "object" else f"{called} is not written as a JSON object"


def _is_model(model: object) -> bool:
    if not isinstance(model, type):
        return False
    model = cast("type[Any]", model)
    return (
        issubclass(model, msgspec.Struct)
        or dataclasses.is_dataclass(model)
        or is_typeddict(model)
        or _is_pydantic(model)
    )


def _is_pydantic(model: type[Any]) -> bool:
    """A pydantic model or pydantic dataclass; whoever made one has imported pydantic."""
    return "pydantic" in sys.modules and hasattr(model, "__pydantic_core_schema__")


def _pydantic_schemas(models: list[type[Any]]) -> tuple[list[Schema], dict[str, Schema]]:
    from pydantic.json_schema import models_json_schema  # noqa: PLC0415  # only where it is installed

    references, whole = models_json_schema(
        [(model, "validation") for model in models], ref_template=REFERENCE + "{model}"
    )
    found = [references[model, "validation"] for model in models]
    return found, cast("dict[str, Schema]", whole.get("$defs", {}))
