"""What a batch's families changed, gathered for the store."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from stateous.engine.changes import Changes
from stateous.engine.facts import Facts
from stateous.engine.family import Family


def gather_changes(facts: Facts) -> Changes:
    """All changes of the families in `facts`; new tokens and locked rows in order of their ids."""
    changes = Changes()
    for root in sorted(facts.families):
        _gather(facts.families[root], changes)
    changes.items.extend(facts.items[key] for key in sorted(facts.changed_items))
    changes.item_changes.extend(facts.item_changes)
    changes.items_unused.extend(
        sorted(key for key, item in facts.items.items() if item.status == "none")
    )
    changes.settled.extend(facts.settled[row] for row in sorted(facts.settled))
    changes.new_tokens.sort(key=lambda token: token.token)
    changes.new_tasks.sort(key=lambda task: task.id)
    changes.tasks.sort(key=lambda task: task.id)
    return changes


def ready_in(changes: Changes) -> Counter[str]:
    """How many tasks of each queue these changes make ready for a claim."""
    return Counter(
        task.queue
        for task in (*changes.new_tasks, *changes.tasks)
        if task.status == "queued" and task.token not in changes.parked
    )


def due_in(changes: Changes) -> datetime | None:
    """When the first of the timers is due that these changes set; None if they set none."""
    return min(
        (
            timer.due_at
            for timer in (*changes.new_timers, *changes.timers)
            if timer.status == "pending" and timer.token not in changes.parked
        ),
        default=None,
    )


def _gather(family: Family, changes: Changes) -> None:
    tokens = family.tokens
    for name in family.new_tokens | family.changed_tokens:
        if tokens[name].status == "paused":
            changes.parked.add(name)
    changes.new_tokens.extend(tokens[name] for name in family.new_tokens)
    changes.tokens.extend(
        (tokens[name], family.seq_loaded[name])
        for name in sorted(family.changed_tokens - family.new_tokens)
    )
    changes.entries.extend(family.entries)
    changes.new_tasks.extend(family.tasks[task] for task in family.new_tasks)
    changes.tasks.extend(family.tasks[task] for task in family.changed_tasks - family.new_tasks)
    changes.new_timers.extend(family.timers[timer] for timer in family.new_timers)
    changes.timers.extend(
        family.timers[timer] for timer in sorted(family.changed_timers - family.new_timers)
    )
    changes.flows.extend(
        flow for task in sorted(family.changed_flows) if (flow := family.flows[task]) is not None
    )
    changes.steps.extend(
        step for place in sorted(family.changed_steps) if (step := family.steps[place]) is not None
    )
    if family.held_cleared:
        changes.held_cleared.append(family.root)
    changes.held.extend((family.root, held) for held in family.held_added)
    changes.memory.extend((*where, value) for where, value in family.memory_set.items())
    changes.memory_wiped.extend(sorted(family.memory_wiped - family.new_tokens))
