"""Cases: one value for each slot, and the scope that real guards then read, if there can be such a one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stateous.compiler.proof.candidates import fits_strings, sample, smallest_object
from stateous.compiler.proof.rivals import NO_PAYLOAD, Documents, Ending, Rivals
from stateous.compiler.proof.slots import Slot
from stateous.model.guard_tree import Count, Field
from stateous.model.guards import Scope
from stateous.model.names import START, STARTED, child_id
from stateous.model.schemas import Models, SchemaError

Json = Any
Document = dict[str, Json]


class Case(msgspec.Struct, frozen=True):
    """What guards find: the value of each slot, and for each branch how its child ended."""

    values: Mapping[Slot, Json]
    endings: tuple[Ending, ...] = ()


def scope_of(case: Case, rivals: Rivals) -> Scope:
    """The scope of a case as guards read it; its objects hold only what is read."""
    reading = rivals.reading
    counts = {STARTED: 1}
    if reading.source != START and reading.on is not None:
        counts[reading.on] = 1
    holders: dict[str, Document] = {"ctx": {}, "payload": {}}
    branches: list[Document] = [
        {
            "workflow": it.workflow,
            "token": None,
            "status": it.status,
            "final": it.final,
            "payload": {},
        }
        for it in case.endings
    ]
    for slot, value in case.values.items():
        match slot.read:
            case Count(event=event):
                counts[event] = value
            case Field(place="branch", name=name):
                branches[slot.branch or 0][name] = value
            case Field(place="branch payload", name=name):
                branches[slot.branch or 0]["payload"][name] = value
            case Field(place=place, name=name):
                holders[place][name] = value
    if not reading.branches:
        return Scope(ctx=holders["ctx"], payload=holders["payload"], counts=counts)
    payload: Document = {**holders["payload"], "branches": branches}
    return Scope(ctx=holders["ctx"], payload=payload, counts=counts, branches=branches)


def whole_scope(case: Case, rivals: Rivals) -> Scope | None:
    """The scope of a case with all that models require; None when no valid one is found."""
    bare = scope_of(case, rivals)
    reading = rivals.reading
    ctx = _valid(reading.context, bare.ctx, rivals.models)
    if ctx is None:
        return None
    branches: list[Document] = []
    for branch, ending in zip(bare.branches or (), case.endings, strict=True):
        payload = _valid(ending.payload, branch["payload"], rivals.models)
        token: str = branch["token"] or child_id("T", reading.source, 1, ending.workflow)
        if payload is None or not fits_strings(ending.token, token):
            return None
        brought = None if ending.payload is NO_PAYLOAD else payload
        branches.append({**branch, "token": token, "payload": brought})
    if len({each["token"].removesuffix(each["workflow"]) for each in branches}) > 1:
        return None
    given = {"branches": branches} if branches else bare.payload
    payload = _valid(reading.payload, given, rivals.models)
    if payload is None:
        return None
    return Scope(ctx=ctx, payload=payload, counts=bare.counts, branches=branches or None)


def _valid(documents: Documents, given: Mapping[str, Json], models: Models) -> Document | None:
    """The given values in an object that the model allows; None when none is found."""
    objects = documents.domain.objects
    kept = {
        name: value
        for name, value in given.items()
        if value is not None or name in objects.required
    }
    if not all(objects.field(name).has(value) for name, value in kept.items()):
        return None
    # Some models want one of several fields that none of the guards reads: so all are tried, too.
    unread = [name for name in objects.fields if name not in given]
    for names in ([], unread):
        try:
            more = {name: sample(objects.field(name)) for name in names}
            whole = smallest_object(objects, {**kept, **more})
        except LookupError:
            continue
        if len(whole) >= objects.fewest and _fits(whole, documents, models):
            return whole
    return None


def _fits(whole: Document, documents: Documents, models: Models) -> bool:
    try:
        return models.problem(documents.model, whole) is None
    except SchemaError:
        # The schema itself is told as a problem of its own.
        return True
