"""What the pydantic models of a contract need beside pydantic: fields that may be missing, bytes, durations."""

from __future__ import annotations

import base64
import binascii
from datetime import timedelta
from typing import Annotated, Any, cast

import msgspec
import pydantic


def missing() -> None:
    """The default of a field that may be missing: None is not written, for JSON it is not there."""


def missing_unless_given() -> None:
    """As `missing`, for a field that may also be null: None is written when it was given."""


class Partial(pydantic.BaseModel):
    """A model some of whose fields may be missing, which leaves them out when it is written."""

    @pydantic.model_serializer(mode="wrap")
    def _without_missing(
        self, write: pydantic.SerializerFunctionWrapHandler, info: pydantic.SerializationInfo
    ) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for name, field in type(self).model_fields.items():
            default, is_set = field.default_factory, name in self.model_fields_set
            left_out = default is missing and getattr(self, name) is None
            if left_out or (default is missing_unless_given and not is_set):
                written.pop((info.by_alias and field.serialization_alias) or name, None)
        return written


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64") from None


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _in_days(value: timedelta) -> str:
    return cast("str", msgspec.to_builtins(value))


Base64 = Annotated[
    bytes,
    pydantic.BeforeValidator(_decoded),
    pydantic.PlainSerializer(_encoded, return_type=str),
    pydantic.WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Bytes that are base64 in JSON."""

Duration = Annotated[timedelta, pydantic.PlainSerializer(_in_days, return_type=str)]
"""A timedelta, in days and seconds in JSON: pydantic by itself writes 365 days as a year."""
