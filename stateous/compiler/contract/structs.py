"""Writes models as msgspec Structs, with keyword arguments only."""

from __future__ import annotations

from collections.abc import Sequence

from stateous.compiler.contract.fields import Field
from stateous.compiler.contract.literals import docstring, written_value
from stateous.compiler.contract.spelling import ANY
from stateous.compiler.contract.tags import Tag


def written_struct(
    name: str, fields: Sequence[Field], *, description: str, closed: bool, tag: Tag | None
) -> str:
    """The class of a model. The field of its tag is written by msgspec, and stands for no field here."""
    options = ["msgspec.Struct", "kw_only=True"]
    options += ["forbid_unknown_fields=True"] if closed else []
    if tag is not None:
        options += [f"tag_field={written_value(tag.key)}", f"tag={written_value(tag.value)}"]
    lines = [f"class {name}({', '.join(options)}):"]
    if description:
        lines += [docstring(description), ""] if fields else [docstring(description)]
    for field in fields:
        lines.append(_field(field))
        lines += [docstring(field.description)] if field.description else []
    if len(lines) == 1:
        lines.append("pass")
    return "\n    ".join(lines).replace("\n    \n", "\n\n")


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
        written = written if written == ANY else f"{written} | msgspec.UnsetType"
        value = "msgspec.UNSET"
        options.append("default=msgspec.UNSET")
    if field.name != field.key:
        value = None
        options.append(f"name={written_value(field.key)}")
    if value is None and options:
        value = f"msgspec.field({', '.join(options)})"
    return f"{field.name}: {written}" + ("" if value is None else f" = {value}")
