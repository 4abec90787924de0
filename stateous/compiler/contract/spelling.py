"""How a library writes the kinds of values as types; what msgspec and pydantic have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, assert_never

from stateous.compiler.contract.kinds import (
    Alias,
    Anything,
    Either,
    Kind,
    Listing,
    Model,
    Name,
    Options,
    Row,
    Rules,
    Scalar,
    Table,
)
from stateous.compiler.contract.literals import written_value

ANY: Final = "typing.Any"
_LARGEST_LITERAL: Final = 2**63 - 1

TYPES: Final[Mapping[Name, str]] = {
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "None": "None",
    "date-time": "datetime.datetime",
    "date": "datetime.date",
    "time": "datetime.time",
    "duration": "datetime.timedelta",
    "uuid": "uuid.UUID",
    "decimal": "decimal.Decimal",
}


class Spelling(ABC):
    """Writes kinds as the annotations of one library. `names` are the Python names of the models."""

    library: ClassVar[str]
    types: ClassVar[Mapping[Name, str]]

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def of(self, kind: Kind) -> str:
        """The type of a kind, as it is written in an annotation."""
        match kind:
            case Anything():
                return ANY
            case Scalar(name, rules):
                return self.ruled(self.types[name], self.rules_of(name, rules))
            case Options(values):
                return self.options(values)
            case Listing(items, unique, rules):
                return self.ruled(f"{'set' if unique else 'list'}[{self.of(items)}]", rules)
            case Row(items):
                return f"tuple[{', '.join(map(self.of, items)) or '()'}]"
            case Table(keys, values, rules):
                return self.ruled(f"dict[{self.of(keys)}, {self.of(values)}]", rules)
            case Model(name) | Alias(name):
                return self.names[name]
            case Either():
                return self.union(kind)
            case _:
                assert_never(kind)

    def options(self, values: tuple[str | int | bool, ...]) -> str:
        """A literal of texts and numbers; neither library has one of numbers beyond 64 bits."""
        numbers = [value for value in values if isinstance(value, int)]
        large = any(abs(number) > _LARGEST_LITERAL for number in numbers)
        if large:
            values = tuple(value for value in values if isinstance(value, str | bool))
        literal = f"typing.Literal[{', '.join(map(written_value, values))}]"
        return union_of(([literal] if values else []) + (["int"] if large else []))

    def rules_of(self, name: Name, rules: Rules) -> Rules:  # noqa: ARG002 - a library may know fewer
        """The rules that the library checks for a scalar."""
        return rules

    def ruled(self, written: str, rules: Rules) -> str:
        """The type with its rules."""
        return (
            f"typing.Annotated[{written}, {self.rule_class}({_arguments(rules)})]"
            if rules
            else written
        )

    rule_class: ClassVar[str]

    @abstractmethod
    def union(self, kind: Either) -> str:
        """The type of a union."""

    @abstractmethod
    def converted(self, value: str, written: str) -> str:
        """The expression that reads a JSON value as a model; both are given as they are written."""


def _arguments(rules: Rules) -> str:
    return ", ".join(f"{name}={written_value(value)}" for name, value in rules)


def union_of(types: list[str]) -> str:
    """The union of written types, each once; with anything in it, it is anything."""
    return ANY if ANY in types else " | ".join(dict.fromkeys(types))
