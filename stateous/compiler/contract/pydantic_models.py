"""Writes models as pydantic models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stateous.compiler.contract.fields import Field
from stateous.compiler.contract.kinds import (
    Anything,
    Kind,
    Scalar,
    members_of,
    parts_of,
    seen_through,
)
from stateous.compiler.contract.literals import docstring, written_value

ATTRIBUTES: Final = frozenset(
    {
        *("construct", "copy", "dict", "from_orm", "json", "model_computed_fields", "model_config"),
        *("model_construct", "model_copy", "model_dump", "model_dump_json", "model_extra"),
        *("model_fields", "model_fields_set", "model_json_schema", "model_parametrized_name"),
        *("model_post_init", "model_rebuild", "model_validate", "model_validate_json"),
        *("model_validate_strings", "mro", "parse_file", "parse_obj", "parse_raw", "register"),
        *("schema", "schema_json", "update_forward_refs", "validate"),
    }
)
"""What every pydantic model has, so that no field can have its name."""


def written_model(
    name: str, fields: Sequence[Field], *, description: str, closed: bool, others: str | None
) -> str:
    """The class of a model. `others` is the type of the keys that it does not name but keeps."""
    written = [_field(field) for field in fields]
    partial = any("pydantic_parts.missing" in line for line in written)
    lines = [f"class {name}({'pydantic_parts.Partial' if partial else 'pydantic.BaseModel'}):"]
    if description:
        lines += [docstring(description)]
    settings = _settings(fields, closed=closed, others=others)
    if settings:
        lines += [f"model_config = pydantic.ConfigDict({', '.join(settings)})"]
    if others is not None and others != "typing.Any":
        lines += [
            f"__pydantic_extra__: dict[str, {others}] = pydantic.Field(init=False)  # type: ignore"
        ]
    if len(lines) > 1 and fields:
        lines.append("")
    for field, line in zip(fields, written, strict=True):
        lines.append(line)
        lines += [docstring(field.description)] if field.description else []
    if len(lines) == 1:
        lines.append("pass")
    return "\n    ".join(lines).replace("\n    \n", "\n\n")


def _settings(fields: Sequence[Field], *, closed: bool, others: str | None) -> list[str]:
    settings: list[str] = []
    if closed or others is not None:
        settings.append(f"extra={written_value('forbid' if closed else 'allow')}")
    if any(field.name != field.key for field in fields):
        settings.append("populate_by_name=True")
    if any(_has_pattern(field.kind) for field in fields):
        settings.append('regex_engine="python-re"')  # its own one has no look-around
    if any(field.name.startswith("model_") for field in fields):
        settings.append("protected_namespaces=()")
    return settings


def _has_pattern(kind: Kind) -> bool:
    scalars = (part for part in parts_of(kind) if isinstance(part, Scalar))
    return any(rule == "pattern" for scalar in scalars for rule, _ in scalar.rules)


def _field(field: Field) -> str:
    options: list[str] = []
    written, value = field.type, None
    if field.default is not None:
        if field.default.shared or field.default.written in {"[]", "{}", "set()"}:
            value = field.default.written
            options.append(f"default={value}")
        else:
            options.append(f"default_factory=lambda: {field.default.written}")
    elif not field.required:
        members = [seen_through(member) for member in members_of(field.kind)]
        may_be_null = any(
            isinstance(member, Anything) or member == Scalar("None") for member in members
        )
        written = written if may_be_null else f"{written} | None"
        marker = "missing_unless_given" if may_be_null else "missing"
        options.append(f"default_factory=pydantic_parts.{marker}")
    if field.name != field.key:
        value = None
        key = written_value(field.key)
        # `alias` would be the name of the argument, to type checkers.
        options += [f"validation_alias={key}", f"serialization_alias={key}"]
    if value is None and options:
        value = f"pydantic.Field({', '.join(options)})"
    return f"{field.name}: {written}" + ("" if value is None else f" = {value}")
