"""The bytes of a request's body, counted while they come in."""

from __future__ import annotations

from stateous.api.refusals import Asked
from stateous.model.refusals import BadRequest, BodyTooLarge
from stateous.model.wire.body import DEEPEST, LARGEST_BODY, Body, read_body

_TOO_LARGE = f"the body has more than {LARGEST_BODY} bytes"


async def body_of(request: Asked, *, deepest: int = DEEPEST) -> Body:
    """Read the request's JSON object, of at most so many levels.

    Raises BodyTooLarge, before a byte is read when the request says its length; BadRequest; InvalidBody.
    """
    for name, value in request.scope["headers"]:
        # The HTTP parser has let only digits through; very many of them are not worth a number.
        if name == b"content-length" and (len(value) > 19 or int(value) > LARGEST_BODY):
            raise BodyTooLarge(_TOO_LARGE)
    message = await request.receive()
    if message["type"] == "http.request" and not message["more_body"]:
        raw = message["body"]
        if len(raw) > LARGEST_BODY:
            raise BodyTooLarge(_TOO_LARGE)
        return read_body(raw, deepest=deepest)
    chunks: list[bytes] = []
    size = 0
    while True:
        if message["type"] != "http.request":
            raise BadRequest("the client went away before its body was complete")
        chunks.append(message["body"])
        size += len(message["body"])
        if size > LARGEST_BODY:
            raise BodyTooLarge(_TOO_LARGE)
        if not message["more_body"]:
            return read_body(b"".join(chunks), deepest=deepest)
        message = await request.receive()
