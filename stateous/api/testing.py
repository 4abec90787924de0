"""The routes that are there for tests only: they move a control plane's manual clock."""

from __future__ import annotations

from typing import cast

from litestar import post
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.bodies import body_of
from stateous.api.plane import ManualTime
from stateous.api.refusals import Asked, answering
from stateous.api.replies import Clock, reply
from stateous.model.wire import fields


@post("/testing/clock", operation_class=operations.ADVANCE)
@answering
async def clock_advance(request: Asked) -> ASGIApp:
    by = fields.advance(await body_of(request))
    time = cast("ManualTime", request.scope["litestar_app"].state["time"])
    return reply(Clock(await time.advance(by)))


ROUTES = [clock_advance]
