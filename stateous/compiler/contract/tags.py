"""By which field the models of a union say which of them they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from stateous.compiler.contract.kinds import (
    Kind,
    Model,
    members_of,
    parts_of,
    seen_through,
)

Schema = Mapping[str, Any]


class Tag(msgspec.Struct, frozen=True):
    """A field that has one value in all objects of a model, and another one in each model beside it."""

    key: str
    value: str | int


def tags_of(kinds: Iterable[Kind], schemas: Mapping[str, Schema]) -> dict[str, Tag]:
    """The tags of the models that stand beside others in a union. A model has one tag, its first."""
    tags: dict[str, Tag] = {}
    for kind in kinds:
        for union in parts_of(kind):
            members = (seen_through(member) for member in members_of(union))
            names = list(dict.fromkeys(each.name for each in members if isinstance(each, Model)))
            if len(names) > 1:
                tags |= _tags_beside(names, schemas, tags)
    return tags


def _tags_beside(
    names: list[str], schemas: Mapping[str, Schema], tags: Mapping[str, Tag]
) -> dict[str, Tag]:
    """The tags by which these models can be told apart; empty when there are none."""
    fixed = {name: _fixed_values(schemas[name]) for name in names}
    for key in fixed[names[0]]:
        found = {name: Tag(key, fixed[name][key]) for name in names if key in fixed[name]}
        values = [tag.value for tag in found.values()]
        alike = len(set(values)) < len(values) or len(set(map(type, values))) > 1
        taken = any(name in tags and tags[name] != tag for name, tag in found.items())
        if len(found) == len(names) and not alike and not taken:
            return found
    return {}


def _fixed_values(schema: Schema) -> dict[str, str | int]:
    """The fields of a model that have one value in each of its objects, and that value."""
    found: dict[str, str | int] = {}
    required = cast("object", schema.get("required"))
    for key, value in schema["properties"].items():
        if not isinstance(value, Mapping):
            continue
        field = cast("Schema", value)
        if "default" not in field and not (isinstance(required, list) and key in required):
            continue
        options: object = [field["const"]] if "const" in field else field.get("enum")
        match options:
            case [str() as only]:
                found[key] = only
            case [int() as only] if not isinstance(only, bool) and abs(only) < 2**63:
                found[key] = only
            case _:
                pass
    return found
