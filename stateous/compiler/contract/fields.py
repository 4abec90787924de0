"""The fields of a model: what each is called, its type, and its default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec

from stateous.compiler.contract.defaults import Default, Fits, default_of
from stateous.compiler.contract.kinds import Kind
from stateous.compiler.contract.literals import names_in
from stateous.compiler.contract.names import MODULES, field_names
from stateous.compiler.contract.spelling import Spelling

Schema = Mapping[str, Any]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field. Without a default, and not required, it may be missing."""

    key: str
    name: str
    kind: Kind
    type: str
    required: bool
    default: Default | None
    description: str


def fields_of(
    schema: Schema,
    kinds: Mapping[str, Kind],
    *,
    spelling: Spelling,
    fits: Fits,
    taken: Collection[str] = (),
) -> list[Field]:
    """The fields with these kinds, in their order. None of them has a name that is `taken`."""
    properties = cast("Mapping[str, object]", schema["properties"])
    said = schema.get("required")
    required: Collection[str] = cast("list[str]", said) if isinstance(said, list) else ()
    types = {key: spelling.of(kind) for key, kind in kinds.items()}
    # What an annotation or a default looks up must not be a field of the same class.
    in_use = {name for written in types.values() for name in names_in(written)}
    names = field_names(kinds, taken={*MODULES, *in_use, *taken})
    found: list[Field] = []
    for key, kind in kinds.items():
        given = properties[key]
        options: Schema = cast("Schema", given) if isinstance(given, Mapping) else {}
        default = None
        if "default" in options:
            default = default_of(kind, options["default"], spelling=spelling, fits=fits)
        description = options.get("description")
        found.append(
            Field(
                key=key,
                name=names[key],
                kind=kind,
                type=types[key],
                required=key in required,
                default=default,
                description=description.strip() if isinstance(description, str) else "",
            )
        )
    return found
