"""What surrounded the start of a token surrounds each run of its routines, wherever they run; nothing of it loses a task."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from stateous import ContextPropagator, ContextVarPropagator, TraceContextPropagator
from stateous.client import AsyncClient
from stateous.client.answers import Entry
from stateous_supervisor.ambience import Ambience
from stateous_supervisor.routine import Routine
from tests.client.planes import serving
from tests.databases import Database
from tests.supervisor.processes import make_folder, says, supervise
from tests.supervisor.running import STATES, Function, submitted, supervising
from tests.supervisor.test_isolation import isolated

pytestmark = pytest.mark.usefixtures("quickly")

TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
CARRY: tuple[ContextPropagator, ...] = (ContextVarPropagator(TENANT), TraceContextPropagator())


def seen() -> str:
    """What a routine sees around it."""
    current = trace.get_current_span().get_span_context()
    return f"{TENANT.get('nobody')} {current.trace_id:032x}"


def in_a_thread(ctx: Any) -> Any:
    ctx.note(seen())
    ctx.step("inner", lambda: ctx.note(seen()))
    if ctx.attempt == 1:
        raise ValueError("no paper")
    return submitted


async def on_the_loop(ctx: Any) -> Any:
    ctx.note(await asyncio.to_thread(seen))
    await ctx.step("inner", lambda: ctx.note(seen()))
    if ctx.attempt == 1:
        raise ValueError("no paper")
    return submitted


def routine(function: Function, *propagators: Any) -> Routine:
    return Routine(
        state=STATES["draft"],
        function=function,
        awaited=inspect.iscoroutinefunction(function),
        file=Path("routines.py"),
        propagators=propagators,
    )


async def notes(client: AsyncClient, token: str) -> list[str]:
    history: list[Entry] = await client.history(token)
    return [entry.data["text"] for entry in history if entry.kind == "note"]


async def start(url: str, token: str, tenant: str) -> str:
    """Start it as `tenant` in a span; what its routines are to see."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    before = TENANT.set(tenant)
    with tracer.start_as_current_span("order") as span:
        async with AsyncClient(url, propagators=CARRY) as client:
            await client.start(token)
    TENANT.reset(before)
    return f"{tenant} {span.get_span_context().trace_id:032x}"


@pytest.mark.parametrize("function", [in_a_thread, on_the_loop])
async def test_each_attempt_has_the_surroundings_of_its_token(
    url: str, client: AsyncClient, tmp_path: Path, function: Function
) -> None:
    expected = {token: await start(url, token, token * 2) for token in ("A", "B")}
    await client.start("C")
    nothing = f"nobody {0:032x}"
    async with supervising(url, tmp_path, {"draft": routine(function, *CARRY)}) as box:
        for _ in "ABC":
            await box.says("reported submitted")
        assert seen() == nothing
    for token, around in {**expected, "C": nothing}.items():
        # The step is not done again.
        assert await notes(client, token) == [around] * 3


ISOLATED = """
def draft(ctx):
    from propagators import tenant
    from opentelemetry import trace
    ctx.note(f"{tenant.get('nobody')} {trace.get_current_span().get_span_context().trace_id:032x}")
    return submitted
"""
PROPAGATORS = """
from contextvars import ContextVar
from stateous import ContextVarPropagator, TraceContextPropagator

tenant = ContextVar("tenant")
propagators = [ContextVarPropagator(tenant), TraceContextPropagator()]
"""


@pytest.mark.parametrize("awaited", [False, True])
async def test_an_isolated_process_has_them_too(
    url: str, client: AsyncClient, tmp_path: Path, *, awaited: bool
) -> None:
    (tmp_path / "propagators.py").write_text(PROPAGATORS)
    text = ISOLATED.replace("def draft", "async def draft") if awaited else ISOLATED
    around = await start(url, "A", "acme")
    async with supervising(
        url, tmp_path, {"draft": isolated(tmp_path, text, awaited=awaited)}
    ) as box:
        await box.says("task 1 of A: reported submitted")
    assert await notes(client, "A") == [around]


class Bad:
    """Fails where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def capture(self) -> Mapping[str, str]:
        return {"bad": "x"}

    def restore(self, captured: Mapping[str, str], /) -> Any:
        self._fail("restore")
        return None if self._where == "none" else self._around(captured)

    @contextmanager
    def _around(self, captured: Mapping[str, str]) -> Generator[None]:
        self._fail("enter")
        try:
            yield
        except BaseException:
            if self._where != "swallow":
                raise
        self._fail("exit")

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError(f"no {where}")

    def __repr__(self) -> str:
        return "Bad()"


SAID = {
    "restore": "Bad() failed to restore what surrounds it: RuntimeError: no restore",
    "none": "Bad() failed to restore what surrounds it: AttributeError",
    "enter": "Bad() failed to restore what surrounds it: RuntimeError: no enter",
    "exit": "Bad() failed to put away what surrounds it: RuntimeError: no exit",
}


@pytest.mark.parametrize("where", SAID)
@pytest.mark.parametrize("awaited", [False, True])
async def test_a_propagator_that_fails_loses_no_task(
    url: str, client: AsyncClient, tmp_path: Path, where: str, *, awaited: bool
) -> None:
    tenants: list[str] = []

    async def draft(_: Any) -> Any:
        tenants.append(TENANT.get())
        return submitted

    def threaded(_: Any) -> Any:
        tenants.append(TENANT.get())
        return submitted

    await start(url, "A", "acme")
    made = routine(draft if awaited else threaded, CARRY[0], Bad(where), CARRY[1])
    async with supervising(url, tmp_path, {"draft": made}) as box:
        assert (await box.says("Bad()")).startswith(f"task 1 of A: {SAID[where]}")
        await box.says("task 1 of A: reported submitted")
    assert tenants == ["acme"]
    assert (await client.get("A")).state == "review"


@pytest.mark.parametrize("function", [in_a_thread, on_the_loop])
async def test_what_a_propagator_makes_of_an_exception_changes_nothing(
    url: str, client: AsyncClient, tmp_path: Path, function: Function
) -> None:
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": routine(function, Bad("swallow"))}) as box:
        await box.says("task 1 of A: reported failed: ValueError: no paper")
        await box.says("task 1 of A: reported submitted")
        assert not [line for line in box.lines.said if "Bad()" in line]


async def test_a_run_that_waits_for_a_response_passes_them_by(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def draft(ctx: Any) -> Any:
        await ctx.respond("label", asked.put)
        ctx.note(seen())
        return submitted

    around = await start(url, "A", "acme")
    async with supervising(url, tmp_path, {"draft": routine(draft, *CARRY, Bad("-"))}) as box:
        correlation = await asked.get()
        await box.says("task 1 of A: reported waiting")
        await client.respond(correlation, 7)
        await box.says("task 1 of A: reported submitted")
        assert not [line for line in box.lines.said if "failed" in line]
    assert await notes(client, "A") == [around]


async def test_a_failure_in_an_isolated_process_is_said_by_the_supervisor(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "propagators.py").write_text(
        "class Bad:\n"
        "    def capture(self): return {}\n"
        "    def restore(self, captured): raise ValueError('no\\nway')\n"
        "    def __repr__(self): return 'Bad()'\n"
        "propagators = [Bad()]\n"
    )
    text = "def draft(ctx):\n    ctx.note('here')\n    return submitted\n"
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": isolated(tmp_path, text)}) as box:
        said = "Bad() failed to restore what surrounds it: ValueError: no way"
        assert await box.says("Bad()") == f"task 1 of A: {said}"
        await box.says("task 1 of A: reported submitted")
    assert await notes(client, "A") == ["here"]


def test_a_child_takes_along_what_is_captured_now_over_what_its_parent_has() -> None:
    warned: list[str] = []
    given = {"tenant": "acme", "of another supervisor": "x"}
    ambience = Ambience([ContextVarPropagator(TENANT)], captured=given, warn=warned.append)
    with ambience:
        assert ambience.capture() == given
        TENANT.set("other")
        assert ambience.capture() == {**given, "tenant": "other"}
        TENANT.set(7)  # pyright: ignore[reportArgumentType]
        assert ambience.capture() == given
        for what_no_token_has in ("x" * 16_385, "nul\0", "half \ud800"):
            TENANT.set(what_no_token_has)
            assert ambience.capture() == given
    assert warned[0] == (
        "its child takes along what it had itself: ContextVarPropagator('tenant') failed to capture: "
        "TypeError: its value is no text but an int: give it encode"
    )
    assert [said.partition(": ")[2] for said in warned[1:]] == [
        "'ambient' has at most 16384 bytes, names and values together",
        "what was captured holds the character \\u0000, which no database keeps",
        "'utf-8' codec can't encode character '\\ud800' in position 5: surrogates not allowed",
    ]


TRACED = """
from contract import events, states
from opentelemetry import trace
from stateous import on_state

@on_state(states.draft)
async def draft(ctx):
    try:
        from propagators import tenant
        ctx.note(tenant.get("nobody"))
    except ImportError:
        ctx.note(f"{trace.get_current_span().get_span_context().trace_id:032x}")
    return events.submitted
"""


@pytest.mark.parametrize("named", [False, True])
async def test_a_folder_carries_traces_or_what_its_propagators_file_names(
    database: Database, tmp_path: Path, *, named: bool
) -> None:
    async with serving(database) as url, AsyncClient(url) as client:
        checksum = (await client.health()).checksum
        folder = make_folder(tmp_path / "box", url, checksum=checksum, routines=TRACED)
        if named:
            (folder / "propagators.py").write_text(PROPAGATORS)
        tenant, traced = (await start(url, "A", "acme")).split()
        with supervise(folder) as running:
            await says(running, "task 1 of A: reported submitted")
        assert await notes(client, "A") == [tenant if named else traced]
