"""What a document has wrong, in one sentence that names the field and never repeats a sent value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from jsonschema_rs import ValidationErrorKind as Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jsonschema_rs import ValidationError

_SHOWN_NAME = 60
_SHOWN_PATH = 120
_SHOWN_RULE = 120
_SHOWN_NAMES = 3
_SHOWN_OPTIONS = 10

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def say_problem(error: ValidationError) -> str:
    """Return the sentence for one validation error, of a few hundred characters at most."""
    return say_at(error.instance_path, error)


def say_at(path: Iterable[str | int], error: ValidationError) -> str:
    """As `say_problem`, for an error whose document lies at `path`."""
    field = _field(path)
    match error.kind:
        case Kind.Required(property=name):
            return f"{_field([*path, name])} is missing"
        case Kind.Type(types=types):
            return f"{field} must be {_either(_TYPES.get(kind, kind) for kind in types)}"
        case (
            Kind.AdditionalProperties(unexpected=names)
            | Kind.UnevaluatedProperties(unexpected=names)
        ):
            return f"{field} has {_names(names)}, which the model does not know"
        case Kind.FalseSchema() if error.schema_path[-1:] == ["additionalProperties"]:
            return f"{field} has a key, and the model knows none"
        case Kind.AnyOf(context=branches) | Kind.OneOfNotValid(context=branches):
            return _say_branches(path, branches)
        case Kind.PropertyNames(error=inner):
            return f"{field} has a key that is not allowed: its name {_rule(inner)}"
        case _:
            return f"{field} {_rule(error)}"


_RULES: dict[type[Kind], tuple[str, str]] = {
    Kind.Enum: ("must be one of {}", "options"),
    Kind.Constant: ("must be {}", "expected_value"),
    Kind.Minimum: ("must be at least {}", "limit"),
    Kind.Maximum: ("must be at most {}", "limit"),
    Kind.ExclusiveMinimum: ("must be more than {}", "limit"),
    Kind.ExclusiveMaximum: ("must be less than {}", "limit"),
    Kind.MultipleOf: ("must be a multiple of {}", "multiple_of"),
    Kind.MinLength: ("must have at least {} characters", "limit"),
    Kind.MaxLength: ("must have at most {} characters", "limit"),
    Kind.Pattern: ("must match the pattern {}", "pattern"),
    Kind.MinItems: ("must have at least {} items", "limit"),
    Kind.MaxItems: ("must have at most {} items", "limit"),
    Kind.MinProperties: ("must have at least {} keys", "limit"),
    Kind.MaxProperties: ("must have at most {} keys", "limit"),
    Kind.UniqueItems: ("must not have an item twice", "name"),
    Kind.Contains: ("lacks an item that the model asks for", "name"),
    Kind.FalseSchema: ("is not allowed by the model", "name"),
    Kind.OneOfMultipleValid: ("fits more than one of the forms that exclude each other", "name"),
}
"""What each broken rule says; the second is the attribute that fills the gap."""


def _rule(error: ValidationError) -> str:
    found = _RULES.get(type(error.kind))
    if found is None:
        return "does not fit the model"
    sentence, attribute = found
    return sentence.format(_shown(getattr(error.kind, attribute)))


def _say_branches(path: Iterable[str | int], branches: list[list[ValidationError]]) -> str:
    """An optional model fails as `null` and as the model: the second is what the sender meant."""
    path = list(path)
    firsts = [errors[0] for errors in branches if errors]
    types: list[str] = []
    others: list[ValidationError] = []
    for error in firsts:
        if isinstance(error.kind, Kind.Type) and list(error.instance_path) == path:
            types.extend(error.kind.types)
        else:
            others.append(error)
    if len(others) == 1:
        return say_at(others[0].instance_path, others[0])
    if types and not others:
        return f"{_field(path)} must be {_either(_TYPES.get(kind, kind) for kind in types)}"
    return f"{_field(path)} fits none of the forms that the model allows"


def _field(path: Iterable[str | int]) -> str:
    name = ""
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += ("." if name else "") + _clipped(step, _SHOWN_NAME)
    return f"'{_clipped(name, _SHOWN_PATH)}'" if name else "it"


def _names(names: list[str]) -> str:
    shown = ", ".join(f"'{_clipped(name, _SHOWN_NAME)}'" for name in names[:_SHOWN_NAMES])
    return shown if len(names) <= _SHOWN_NAMES else f"{shown} and {len(names) - _SHOWN_NAMES} more"


def _either(names: Iterable[str]) -> str:
    ordered = sorted(set(names), key=lambda name: (name == "null", name))
    return " or ".join(ordered) if ordered else "something else"


def _shown(value: Any) -> str:
    """A value of the schema, never of the document."""
    match value:
        case list():
            items = cast("list[Any]", value)
            text = ", ".join(_shown(item) for item in items[:_SHOWN_OPTIONS])
            text += " …" if len(items) > _SHOWN_OPTIONS else ""
        case None:
            text = "null"
        case bool():
            text = str(value).lower()
        case str():
            text = f"'{value}'"
        case _:
            text = str(value)
    return _clipped(text, _SHOWN_RULE)


def _clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
