"""The types of msgspec: what it can tell apart in a union, and what it can check."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import msgspec

from stateous.compiler.contract.kinds import (
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
    members_of,
    seen_through,
)
from stateous.compiler.contract.rules import is_exact
from stateous.compiler.contract.spelling import ANY, TYPES, Spelling, union_of
from stateous.compiler.contract.tags import Tag


class StructTypes(Spelling):
    """Types as msgspec takes them.

    It tells the members of a union apart by their kind of JSON. So two texts are `str`, two lists are
    `list[typing.Any]`, and two models are `typing.Any` unless each says in a tag which one it is.
    """

    library = "msgspec"
    types: ClassVar[Mapping[Name, str]] = {**TYPES, "base64": "bytes", "binary": "str"}
    rule_class = "msgspec.Meta"

    def __init__(self, names: Mapping[str, str], tags: Mapping[str, Tag]) -> None:
        super().__init__(names)
        self._tags = tags

    def options(self, values: tuple[str | int | bool, ...]) -> str:
        """It knows no literal of bools."""
        literal = tuple(value for value in values if not isinstance(value, bool))
        types = [super().options(literal)] if literal else []
        return union_of(types + (["bool"] if len(literal) < len(values) else []))

    def rules_of(self, name: Name, rules: Rules) -> Rules:
        """It takes remainders as they are in binary: `0.3` is no multiple of `0.1` there."""
        return tuple(
            (rule, limit)
            for rule, limit in rules
            if rule != "multiple_of" or name == "int" or is_exact(limit)
        )

    def converted(self, value: str, written: str) -> str:
        return f"msgspec.convert({value}, {written})"

    def union(self, kind: Either) -> str:
        alike: dict[str, list[Kind]] = {}
        members = _parts(kind)
        if any(isinstance(member, Row) for member in map(seen_through, members)):
            # msgspec 0.23 crashes when it collects garbage, if a tuple stands beside what has rules.
            members = [_without_rules(member) for member in members]
        for member in members:
            alike.setdefault(_json_of(member), []).append(member)
        if "float" in alike and all(
            isinstance(seen_through(each), Options) for each in alike.get("int", ())
        ):
            # A literal beside a float would take every whole number for itself.
            alike.update({"int": [Scalar("int")]} if "int" in alike else {})
        return union_of([self._merged(json, members) for json, members in alike.items()])

    def _merged(self, json: str, members: list[Kind]) -> str:
        """One type for the members that are the same in JSON."""
        if len(members) == 1:
            return self.of(members[0])
        cores = [seen_through(member) for member in members]
        literals = [core for core in cores if isinstance(core, Options)]
        if len(literals) == len(cores):
            return self.options(tuple(value for each in literals for value in each.values))
        match json:
            case "array":
                return f"list[{ANY}]"
            case "object":
                return self._merged_objects(cores)
            case _:
                return json

    def _merged_objects(self, cores: list[Kind]) -> str:
        models = [core.name for core in cores if isinstance(core, Model)]
        if not models:
            return f"dict[str, {ANY}]"
        told_apart = len(models) == len(cores) and _are_told_apart(models, self._tags)
        return union_of([self.names[name] for name in models]) if told_apart else ANY


def _are_told_apart(models: Collection[str], tags: Mapping[str, Tag]) -> bool:
    found = [tags[name] for name in models if name in tags]
    return (
        len(found) == len(models)
        and len({tag.key for tag in found}) == 1
        and len({(type(tag.value), tag.value) for tag in found}) == len(found)
    )


def _parts(kind: Kind) -> list[Kind]:
    """The members of a union; a literal of several kinds of JSON is one for each of them."""
    parts: list[Kind] = []
    for member in members_of(kind):
        core = seen_through(member)
        by_type: dict[type, list[str | int | bool]] = {}
        for value in core.values if isinstance(core, Options) else ():
            by_type.setdefault(type(value), []).append(value)
        several = len(by_type) > 1
        parts += [Options(tuple(values)) for values in by_type.values()] if several else [member]
    return parts


def _without_rules(kind: Kind) -> Kind:
    core = seen_through(kind)
    if isinstance(core, Scalar | Listing | Table) and core.rules:
        return msgspec.structs.replace(core, rules=())
    return kind


def _json_of(kind: Kind) -> str:
    """What msgspec tells a kind apart by."""
    match seen_through(kind):
        case Scalar("int" | "float" | "bool" | "None" as name):
            return name
        case Options((bool(), *_)):
            return "bool"
        case Options((int(), *_)):
            return "int"
        case Listing() | Row():
            return "array"
        case Table() | Model():
            return "object"
        case _:
            return "str"
