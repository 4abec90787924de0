"""The OpenAPI document: it describes every route, and a fuzzer that reads it finds no fault."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from stateous.api import about, flows, items, tasks, tokens
from stateous.api.refusals import STATUS
from stateous.control.plane import Plane
from stateous.model.refusals import MethodNotAllowed, Refusal
from tests.api.caller import Caller
from tests.api.planes import EmptyPlane
from tests.api.serving import served
from tests.api.story import start

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
)


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    return tmp_path / "fuzzer.log"


def said(noted: Path) -> str:
    return noted.read_text(errors="replace")[-8000:]


def every(kind: type[Refusal]) -> set[type[Refusal]]:
    return {kind}.union(*map(every, kind.__subclasses__()))


def test_every_refusal_has_its_status() -> None:
    assert STATUS.keys() == every(Refusal) - {Refusal}


async def test_the_document_names_every_route_and_every_code() -> None:
    async with served(EmptyPlane()) as caller:
        document = (await caller.get("/openapi.json")).json
    routes = {
        (method, path.replace(":str", ""))
        for handler in (*tokens.ROUTES, *tasks.ROUTES, *flows.ROUTES, *items.ROUTES, *about.ROUTES)
        for path in handler.paths
        for method in handler.http_methods
    }
    told = {
        (method.upper(), path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    assert told.keys() == routes
    codes: set[str] = set()
    for operation in told.values():
        assert operation["summary"]
        for status, answer in operation["responses"].items():
            assert answer["description"]
            if int(status) >= 400:
                schema = answer["content"]["application/json"]["schema"]
                codes.update(schema["properties"]["code"]["enum"])
    # 405 belongs to the methods that the document does not have.
    assert codes == {kind.code for kind in STATUS} - {MethodNotAllowed.code}
    assert MethodNotAllowed.code in document["info"]["description"]


async def test_a_fuzzer_finds_no_fault(api: Caller, plane: Plane, noted: Path) -> None:
    # It does not wait for an answer as long as a claim may.
    plane.end_waits()
    await start(api, "ORDER-1", size=3)
    await start(api, "ORDER-2")
    command = [
        *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"),
        f"http://{api.host}:{api.port}/openapi.json",
        *("--checks", ",".join(CHECKS)),
        *("--phases", "examples,coverage,fuzzing"),
        *("--max-examples", "15", "--seed", "1", "--generation-deterministic"),
        *("--no-shrink", "--no-color", "--warnings", "off"),
    ]
    with noted.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=log, stderr=log, cwd=noted.parent
        )
        code = await process.wait()
    assert code == 0, said(noted)
    history = (await api.get("/tokens/ORDER-1/history")).json
    assert [entry["seq"] for entry in history] == list(range(1, len(history) + 1))
