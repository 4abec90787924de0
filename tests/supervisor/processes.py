"""A supervisor as a process on a folder of its own."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.e2e.processes import Running

CONTRACT = """
from stateous import Event, StateRef

__workflow__ = "orders"
__checksum__ = "{checksum}"

class events:
    class submitted(Event):
        name = "submitted"

class states:
    draft = StateRef("draft", emits=("submitted",))
"""
ROUTINES = """
import pathlib, time
from contract import events, states
from stateous import on_state

@on_state(states.draft)
def draft(ctx):
    ctx.note("begun")
    while not pathlib.Path(__file__).with_name("go").exists():
        time.sleep(0.01)
    return events.submitted
"""


def make_folder(
    path: Path, url: str, *, checksum: str = "sha256:1", routines: str = ROUTINES
) -> Path:
    path.mkdir()
    (path / "stateous.yaml").write_text(f"url: {url}\nname: box\n")
    (path / "contract.py").write_text(CONTRACT.format(checksum=checksum))
    (path / "routines.py").write_text(routines)
    return path


def supervise(folder: Path) -> Running:
    return Running("supervise", folder.name, cwd=folder.parent)


async def says(running: Running, pattern: str) -> re.Match[str]:
    """Wait for a line in a thread, so that the loop can serve the process meanwhile."""
    return await asyncio.to_thread(running.says, pattern)


async def exit_code(running: Running) -> int:
    return await asyncio.to_thread(running.ends)
