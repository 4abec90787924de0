"""JSON that was kept, as the class that a routine wants it to be."""

from __future__ import annotations

from typing import Any

import msgspec

from stateous.model.flows import Mistyped


def typed(value: Any, wanted: Any, at: str) -> Any:
    """The plain JSON as an instance of `wanted`; None leaves it as it is. Raises Mistyped, naming it as `at`."""
    if wanted is None:
        return value
    try:
        if hasattr(wanted, "__pydantic_validator__"):
            return _as_pydantic(wanted, value)
        return msgspec.convert(value, wanted, str_keys=True, dec_hook=_as_pydantic)
    except msgspec.ValidationError as problem:
        said = str(problem).replace("`$.", "`").replace(" - at `$`", "")
        raise Mistyped(f"{at} is no {_name(wanted)}: {said}") from None


def _as_pydantic(wanted: Any, value: Any) -> Any:
    """An instance of a model or dataclass of pydantic's. Raises TypeError for another class, and ValidationError."""
    if not hasattr(wanted, "__pydantic_validator__"):
        raise TypeError(f"JSON cannot be read as {_name(wanted)}")
    import pydantic  # noqa: PLC0415 - whose class it is has imported it

    try:
        return pydantic.TypeAdapter(wanted).validate_json(msgspec.json.encode(value))
    except pydantic.ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise msgspec.ValidationError(
            f"{first['msg']} - at `{place}`" if place else first["msg"]
        ) from None


def _name(wanted: Any) -> str:
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)
