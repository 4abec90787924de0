"""The supervisor that `serve --supervise` runs beside the control plane, as a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path


class Companion:
    """A running supervisor. It has a session of its own, so that Ctrl-C reaches it only through us.

    It holds the other end of a pipe of ours, and stops at once when that closes: however this process ends,
    no supervisor is left behind that would keep the folder.
    """

    def __init__(self, process: asyncio.subprocess.Process, leash: int) -> None:
        self._process = process
        self._leash = leash

    @classmethod
    async def start(cls, folder: Path) -> Companion:
        """Start it. Raises OSError when no process can be made; all else is the process's to say."""
        theirs, ours = os.pipe()
        arguments = ("-m", "stateous_supervisor", str(folder), str(theirs))
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, pass_fds=(theirs,), start_new_session=True
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours)

    async def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        return await self._process.wait()

    async def stop(self, *, now: asyncio.Event) -> None:
        """Ask it to finish, and wait; when `now` is set, it is to end at once."""
        ended = asyncio.ensure_future(self.ended())
        hurry = asyncio.ensure_future(now.wait())
        try:
            self._signal()
            await asyncio.wait((ended, hurry), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                self._signal()
            await ended
        finally:
            hurry.cancel()
            os.close(self._leash)

    def _signal(self) -> None:
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)
