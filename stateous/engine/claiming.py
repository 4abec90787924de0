"""Claims (docs/http.md): grants the lowest ready tasks of the asked states; a repeated request gets its grants again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stateous.engine.answers import Grant, Granted
from stateous.engine.changes import Changes
from stateous.engine.commands import Claim
from stateous.engine.draft import Draft
from stateous.engine.facts import ClaimAsk, Facts, Need
from stateous.engine.family import Occurrence, Remembered, Task
from stateous.engine.flows import as_granted
from stateous.engine.items import granted_log
from stateous.engine.rules import Rules
from stateous.engine.saving import gather_changes
from stateous.model.names import STARTED
from stateous.model.refusals import Refusal, Unexpected


class ClaimBatch:
    """Claims that share a transaction, decided in order of arrival."""

    def __init__(self, rules: Rules, claims: Sequence[Claim]) -> None:
        self._rules = rules
        self._claims = claims
        self.answers: list[Granted | Refusal] = []
        self.faults: list[Exception] = []
        self._looked_up: set[tuple[int, int]] = set()
        self._remembered: dict[str, Remembered] = {}

    @property
    def asks(self) -> list[ClaimAsk]:
        """What the store reads for these claims."""
        return [
            ClaimAsk(
                supervisor=claim.supervisor if claim.request is not None else None,
                queues=claim.states,
                max=claim.max,
            )
            for claim in self._claims
        ]

    def decide(self, facts: Facts, now: datetime) -> None:
        """Decide the claims that are not decided yet; raises Need."""
        for claim in self._claims[len(self.answers) :]:
            try:
                answer: Granted | Refusal = self._decide_one(facts, claim, now)
            except Need:
                raise
            except Exception as fault:  # noqa: BLE001 - answered, and told to the lane
                self.faults.append(fault)
                answer = Unexpected("the control plane could not decide this claim")
            self.answers.append(answer)

    def changes(self, facts: Facts) -> Changes:
        """All that the decided claims changed."""
        changes = gather_changes(facts)
        changes.remembered.extend(self._remembered.values())
        return changes

    def _decide_one(self, facts: Facts, claim: Claim, now: datetime) -> Granted:
        again = self._repeated(facts, claim, now)
        if again is not None:
            return again
        wanted = set(claim.states)
        ready = [
            task for task in facts.ready if task.queue in wanted and _is_ready(facts, task.id)
        ][: claim.max]
        grants = [self._grant(facts, task, claim.supervisor, now) for task in ready]
        if claim.request is not None:
            self._remember(facts, claim.supervisor, claim.request, grants)
        return Granted(tuple(grants))

    def _remember(
        self, facts: Facts, supervisor: str, request: str, grants: Sequence[Grant]
    ) -> None:
        last = facts.remembered.get(supervisor)
        if not grants and (last is None or not last.grants):
            # Nothing given before, nothing now: a repeat is a new claim either way, so an idle
            # supervisor's claims write nothing.
            return
        remembered = Remembered(
            supervisor, request, tuple((grant.task, grant.attempt) for grant in grants)
        )
        facts.remembered[supervisor] = remembered
        self._remembered[supervisor] = remembered

    def _repeated(self, facts: Facts, claim: Claim, now: datetime) -> Granted | None:
        """The grants of the same request that are still held, their leases renewed; None: a new claim."""
        last = facts.remembered.get(claim.supervisor)
        if claim.request is None or last is None or last.request != claim.request:
            return None
        missing = tuple(
            grant
            for grant in last.grants
            if grant[0] not in facts.task_roots and grant not in self._looked_up
        )
        if missing:
            # A task that is gone from the database is asked for once, not for ever.
            self._looked_up.update(missing)
            raise Need(grants=missing)
        grants: list[Grant] = []
        for task_id, attempt in last.grants:
            family = facts.family_of_task(task_id)
            task = None if family is None else family.tasks.get(task_id)
            if family is None or task is None:
                continue
            if _still_holds(task, claim.supervisor, attempt, now):
                draft = Draft(self._rules, facts, family, now)
                draft.edit_task(task_id).lease_until = now + self._rules.lease_for
                draft.keep()
                grants.append(self._granted(facts, task))
        return Granted(tuple(grants)) if grants else None

    def _grant(self, facts: Facts, task: Task, supervisor: str, now: datetime) -> Grant:
        family = facts.family_of_task(task.id)
        assert family is not None  # noqa: S101 - the store reads the family of every ready task
        draft = Draft(self._rules, facts, family, now)
        claimed = draft.edit_task(task.id, status="claimed")
        claimed.attempt += 1
        claimed.claimed_by = supervisor
        claimed.lease_until = draft.at + self._rules.lease_for
        draft.record(
            task.token,
            "task_claimed",
            {"task": task.id, "supervisor": supervisor, "attempt": claimed.attempt},
        )
        draft.keep()
        return self._granted(facts, claimed)

    def _granted(self, facts: Facts, task: Task) -> Grant:
        family = facts.families[facts.task_roots[task.id]]
        token = family.tokens[task.token]
        flow, steps = facts.flows.get(task.id, (None, ()))
        return Grant(
            task=task.id,
            token=task.token,
            state=task.queue,
            visit=task.visit,
            attempt=task.attempt,
            context=token.context,
            memory=facts.memory.get((task.token, task.state), {}),
            entered_by=token.entered_by or Occurrence(STARTED),
            flow=flow,
            steps=as_granted(steps, task),
            ambient=token.ambient,
            state_log=granted_log(self._rules, task),
        )


def _is_ready(facts: Facts, task_id: int) -> bool:
    """Whether the task is still to be given: looked at again, as the claims before this one left it."""
    family = facts.family_of_task(task_id)
    if family is None:
        return False
    task = family.tasks[task_id]
    return task.status == "queued" and family.tokens[task.token].status == "active"


def _still_holds(task: Task, supervisor: str, attempt: int, now: datetime) -> bool:
    """A lease that ends exactly now is not over."""
    return (
        task.status == "claimed"
        and task.claimed_by == supervisor
        and task.attempt == attempt
        and task.lease_until is not None
        and task.lease_until >= now
    )
