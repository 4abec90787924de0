"""Random graphs under random commands: whatever comes, no invariant breaks and every ledger replays.

Without more said, the same runs are made each time. STATEOUS_DEEP=1 tries many more, other ones in each run.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.engine.chance import Drawn, Seeded
from tests.engine.random_graphs import random_graph
from tests.engine.walking import Walk

DEEP = bool(os.environ.get("STATEOUS_DEEP"))
SEEDS = random.sample(range(10**9), 20_000) if DEEP else range(200)
CHUNK = 20
STEPS = ("one", "one", "one", "several", "messages", "claim", "work", "work", "later")


class Engine(RuleBasedStateMachine):
    """A walk whose steps Hypothesis chooses, and shrinks when one of them fails."""

    def __init__(self) -> None:
        super().__init__()
        self.walk: Walk | None = None

    @initialize(data=st.data())
    def serve(self, data: st.DataObject) -> None:
        self.walk = Walk(random_graph(Drawn(data.draw)))

    @rule(data=st.data(), step=st.sampled_from(STEPS))
    def go_on(self, data: st.DataObject, step: str) -> None:
        if self.walk is not None and not self.walk.is_long:
            getattr(self.walk, step)(Drawn(data.draw))

    @invariant()
    def everything_holds(self) -> None:
        if self.walk is not None:
            self.walk.check()


TestEngine = Engine.TestCase
TestEngine.settings = settings(
    max_examples=2000 if DEEP else 60,
    stateful_step_count=60 if DEEP else 30,
    derandomize=not DEEP,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("first", range(0, len(SEEDS), CHUNK))
def test_everything_holds_on_walks_from_seeds(first: int) -> None:
    """Seeds spread wider than Hypothesis, which likes to stay close to what it found; they do not shrink."""
    for seed in SEEDS[first : first + CHUNK]:
        try:
            walk_from(seed)
        except Exception as fault:
            fault.add_note(f"on the walk from seed {seed}")
            raise


def walk_from(seed: int) -> Walk:
    chance = Seeded(seed)
    walk = Walk(random_graph(chance))
    for _ in range(60):
        if walk.is_long:
            break
        getattr(walk, chance.one(STEPS))(chance)
        walk.check()
    return walk
