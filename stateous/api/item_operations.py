"""What the OpenAPI document says of the routes of business items."""

from __future__ import annotations

from typing import Final

from litestar.openapi.spec import OpenAPIType, Schema

from stateous.api import shapes
from stateous.api.document import Told, described, one, parameter
from stateous.api.item_replies import FoundItems, ItemChanges, ItemsExist, StoredItems, ToldItems
from stateous.api.operations import BODY, DATABASE, NO_CONTENT, OF_TASK, TASK
from stateous.model.refusals import (
    AttemptOver,
    InvalidArgument,
    InvalidPayload,
    ItemBusy,
    ItemMoveNotAllowed,
    ItemNotFound,
    NoStateLog,
    TaskNotHeld,
)
from stateous.model.state_logs import SCOPES
from stateous.model.wire import items, query

_ITEMS_LIMIT: Final = parameter(
    "query",
    "limit",
    "How many items at most.",
    Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=query.LONGEST_LISTING, default=100),
)
_OF_ITEMS: Final = (
    *BODY,
    *OF_TASK,
    InvalidArgument,
    TaskNotHeld,
    AttemptOver,
    NoStateLog,
    *DATABASE,
)
_TOLD: Final = Told("What became of each item, in their order.", one(ToldItems))
ITEMS_EXIST: Final = described(
    "items_exist",
    "Say which business items exist: nobody works on them again",
    parameters=[TASK],
    body=shapes.ItemsAskedBody,
    answers={200: Told("Whether each of them exists, in their order.", one(ItemsExist))},
    refusals=(*BODY, *OF_TASK, InvalidArgument, NoStateLog, *DATABASE),
)
ITEMS_GET: Final = described(
    "items_get",
    "Tell what counts of business items",
    parameters=[TASK],
    body=shapes.ItemsAskedBody,
    answers={200: Told("What counts of each, null for nothing, in their order.", one(FoundItems))},
    refusals=(*BODY, *OF_TASK, InvalidArgument, NoStateLog, *DATABASE),
)
ITEMS_ACQUIRE: Final = described(
    "items_acquire",
    "Lock business items for an attempt of a task",
    parameters=[TASK],
    body=shapes.ItemsAcquireBody,
    answers={200: _TOLD},
    refusals=_OF_ITEMS,
)
ITEMS_SET: Final = described(
    "items_set",
    "Say what became of business items",
    parameters=[TASK],
    body=shapes.ItemsSetBody,
    answers={200: _TOLD},
    refusals=(*_OF_ITEMS, InvalidPayload, ItemBusy, ItemMoveNotAllowed),
)
ITEMS_RELEASE: Final = described(
    "items_release",
    "Say that business items failed",
    parameters=[TASK],
    body=shapes.ItemsReleaseBody,
    answers={200: _TOLD},
    refusals=(*_OF_ITEMS, ItemBusy, ItemMoveNotAllowed),
)
ITEMS_UPSERT: Final = described(
    "items_upsert",
    "Say that business items are done, whatever was known of them",
    parameters=[TASK],
    body=shapes.ItemsUpsertBody,
    answers={200: _TOLD},
    refusals=(*_OF_ITEMS, InvalidPayload, ItemBusy, ItemMoveNotAllowed),
)
_OF_ITEM: Final = (
    parameter(
        "query",
        "scope",
        "Who shares the items.",
        Schema(type=OpenAPIType.STRING, enum=list(SCOPES)),
    ),
    parameter("query", "place", "Where in the scope.", Schema(type=OpenAPIType.STRING)),
    parameter("query", "entity", "What the items are.", Schema(type=OpenAPIType.STRING)),
    parameter("query", "item", "The item itself.", Schema(type=OpenAPIType.STRING)),
)
ITEMS: Final = described(
    "items_list",
    "List business items by their keys",
    parameters=[
        *_OF_ITEM,
        parameter(
            "query",
            "status",
            "Only items of this status.",
            Schema(type=OpenAPIType.STRING, enum=list(items.STATUSES)),
        ),
        parameter(
            "query", "token", "Only items that this token changed.", Schema(type=OpenAPIType.STRING)
        ),
        parameter(
            "query", "after", "The `next` of the page before.", Schema(type=OpenAPIType.STRING)
        ),
        _ITEMS_LIMIT,
    ],
    answers={200: Told("The items.", one(StoredItems))},
    refusals=(InvalidArgument, *DATABASE),
)
ITEM_HISTORY: Final = described(
    "item_history",
    "Show all that became of a business item",
    parameters=_OF_ITEM,
    answers={200: Told("What became of it, the first first.", one(ItemChanges))},
    refusals=(InvalidArgument, ItemNotFound, *DATABASE),
)
ITEM_RESET: Final = described(
    "item_reset",
    "End the lock of a business item, whoever has it",
    body=shapes.ItemKeyBody,
    answers={204: NO_CONTENT},
    refusals=(*BODY, InvalidArgument, ItemNotFound, ItemMoveNotAllowed, *DATABASE),
)
ITEM_EXPIRE: Final = described(
    "item_expire",
    "Forget what became of a business item",
    body=shapes.ItemKeyBody,
    answers={204: NO_CONTENT},
    refusals=(*BODY, InvalidArgument, ItemNotFound, ItemMoveNotAllowed, *DATABASE),
)
