"""The routes that tell of the control plane itself: the graph it serves, and its health."""

from __future__ import annotations

from importlib.metadata import version

from litestar import get
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.plane import plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import Health, reply


@get("/workflow", operation_class=operations.WORKFLOW)
@answering
async def workflow_get(request: Asked) -> ASGIApp:
    plane = plane_of(request)
    plane.check_serving()
    return reply(plane.graph.document)


@get("/health", operation_class=operations.HEALTH)
@answering
async def health_get(request: Asked) -> ASGIApp:
    plane = plane_of(request)
    plane.check_serving()
    lease_for = plane.lease_for.total_seconds()
    return reply(Health(plane.graph.workflow, plane.graph.checksum, lease_for, version("stateous")))


ROUTES = [workflow_get, health_get]
