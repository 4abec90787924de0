"""The steps of one run are written down by the control plane: past the outbox, since another computer may go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError

from stateous.client import calls
from stateous.client.answers import Checkpointed
from stateous.model.refusals import AttemptOver, Refusal, StaleRevision, TaskNotFound, TaskNotHeld
from stateous_supervisor.link import Link
from stateous_supervisor.mailbox import AttemptEnded
from stateous_supervisor.signals import wait_for_any


class Checkpoints:
    """Sends steps of a task until they are answered, or until `close`.

    `lost` is called when the answer says that the task is not ours any more, `stale` when it says that another run
    goes on with it; both on the loop.
    """

    def __init__(
        self,
        task: int,
        *,
        link: Link,
        lost: Callable[[], None],
        stale: Callable[[Refusal], None],
    ) -> None:
        self._task = task
        self._link = link
        self._lost = lost
        self._stale = stale
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        self._now = asyncio.Event()
        self._now.set()

    def close(self) -> None:
        """The run is over: who still waits here is told AttemptEnded."""
        self._closed.set()

    async def send(self, body: bytes, /, *, last: bool = False) -> Checkpointed:
        """Send a step until it is answered; the last one once. Raises Refusal, AttemptEnded, GaveUp."""
        call = calls.checkpoint_as_written(self._task, body)
        asking = asyncio.ensure_future(
            self._link.ask(call, until=self._now if last else self._closed)
        )
        try:
            await wait_for_any(asking, self._closed)
            if not asking.done():
                raise AttemptEnded(f"task {self._task} is over for this attempt")
            return asking.result()
        except (AttemptOver, TaskNotFound, TaskNotHeld):
            self._lost()
            raise
        except StaleRevision as refusal:
            self._stale(refusal)
            raise
        finally:
            asking.cancel()

    def send_and_wait(self, body: bytes, /, *, last: bool = False) -> Checkpointed:
        """`send`, from another thread."""
        sending = self.send(body, last=last)
        try:
            return asyncio.run_coroutine_threadsafe(sending, self._loop).result()
        except (CancelledError, RuntimeError):  # the supervisor ends
            sending.close()
            raise AttemptEnded(f"task {self._task} is over for this attempt") from None
