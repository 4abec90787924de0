"""The types of pydantic, which tries the members of a union and takes the one that fits best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from stateous.compiler.contract.kinds import Either, Name, members_of
from stateous.compiler.contract.spelling import TYPES, Spelling, union_of


class PydanticTypes(Spelling):
    """Types as pydantic takes them."""

    library = "pydantic"
    types: ClassVar[Mapping[Name, str]] = {
        **TYPES,
        "duration": "pydantic_parts.Duration",
        "base64": "pydantic_parts.Base64",
        "binary": "bytes",
    }
    rule_class = "pydantic.Field"

    def union(self, kind: Either) -> str:
        return union_of([self.of(member) for member in members_of(kind)])

    def converted(self, value: str, written: str) -> str:
        return f"{written}.model_validate({value})"
