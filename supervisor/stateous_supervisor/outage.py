"""An outage: from the first call that gets no answer to the last one that waits for one; told once, with its end."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from stateous_supervisor.log import Log


class Outage:
    """What all senders of this process know of the control plane's absence. Any thread may use it.

    The log has a line for each longer wait, whoever waits, and one for the end: when a call that had failed is
    answered, and no other is failing.
    """

    def __init__(self, *, url: str, log: Log) -> None:
        self._url = url
        self._log = log
        self._lock = Lock()
        self._failing: set[object] = set()
        self._said = 0.0
        self._returned: list[Callable[[], None]] = []

    def when_over(self, call: Callable[[], None]) -> None:
        """Call this, in the thread that notices, whenever a call that had failed is answered."""
        self._returned.append(call)

    def failed(self, sender: object, why: str, *, wait: float) -> None:
        """A try got no answer; the next one is `wait` seconds away."""
        with self._lock:
            self._failing.add(sender)
            is_news = wait > self._said
            self._said = max(self._said, wait)
        if is_news:
            self._log.warning(
                f"{why}; trying again in {wait:g}s", kind="control_plane.away", wait=wait
            )

    def answered(self, sender: object) -> None:
        """A call that had failed was answered."""
        with self._lock:
            if sender not in self._failing:
                return
            self._failing.discard(sender)
            is_over = not self._failing
            if is_over:
                self._said = 0.0
        if is_over:
            self._log.info(
                f"the control plane at {self._url} answers again", kind="control_plane.back"
            )
        for call in self._returned:
            call()

    def forget(self, sender: object) -> None:
        """Nobody waits for the answer any more."""
        with self._lock:
            self._failing.discard(sender)
            if not self._failing:
                self._said = 0.0
