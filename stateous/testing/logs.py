"""The state logs of a test: the engine keeps those of the control plane, and a stand-in those of other handlers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from stateous.client.answers import Grant
from stateous.model.items import ItemRecord
from stateous.model.state_log_handlers import StateLogContext
from stateous.model.state_logs import BUILT_IN
from stateous.testing.engine_log import EngineLog
from stateous.testing.memory_log import MemoryStateLog
from stateous.testing.problems import CannotTest

Log = EngineLog | MemoryStateLog


class Logs:
    """Without an `engine` the stand-in keeps all of them. No handler of a folder is asked: what it speaks to is far."""

    def __init__(self, *, now: Callable[[], datetime], engine: EngineLog | None = None) -> None:
        self._now = now
        self._engine = engine
        self._others: dict[str, MemoryStateLog] = {}

    def of(self, grant: Grant) -> Log | None:
        """What keeps the state log of a grant; None: it has none."""
        if grant.stateLog is None:
            return None
        name = grant.stateLog.handler
        if name == BUILT_IN and self._engine is not None:
            return self._engine
        return self._others.setdefault(name, MemoryStateLog(now=self._now))

    def put(self, grant: Grant, context: StateLogContext, records: Sequence[ItemRecord]) -> None:
        """Have these records in the state log of a grant. Raises CannotTest when it has none."""
        log = self.of(grant)
        if log is None:
            raise CannotTest(
                f"the state {grant.state!r} has no state log, so there can be no items"
            )
        log.put(context, records)

    def ended(self, task: int) -> None:
        """An attempt of the task has ended, and does not wait: the engine knows it already."""
        for log in self._others.values():
            log.end_locks(task)

    @property
    def records(self) -> list[ItemRecord]:
        """All that is kept, by scope, place, entity and item; that of other handlers comes last."""
        kept = [] if self._engine is None else self._engine.records
        return [*kept, *(record for log in self._others.values() for record in log.records)]


def at_once(asking: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nothing. Raises CannotTest for another one."""
    try:
        asking.send(None)
    except StopIteration as end:
        return end.value
    asking.close()
    raise CannotTest("a state log that waits for something cannot be asked by a def routine here")
