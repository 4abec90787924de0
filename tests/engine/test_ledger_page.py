"""docs/ledger.md has all that is written: random walks record no kind and no data that it does not name."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from stateous.model.sentences import SENTENCES
from tests.engine.chance import Seeded
from tests.engine.random_graphs import random_graph
from tests.engine.walking import Walk

PAGE = Path(__file__).parents[2] / "docs/ledger.md"
WALKS = 100
STEPS = ("one", "one", "one", "several", "claim", "work", "work", "later")


def data_in_the_page() -> dict[str, set[str]]:
    """The names in the second cell of each kind's row."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {kind: set(re.findall(r"`(\w+)`", cell)) for kind, cell in rows if kind in SENTENCES}


def test_what_walks_write_is_what_the_page_says() -> None:
    written: dict[str, set[str]] = defaultdict(set)
    for seed in range(WALKS):
        chance = Seeded(seed)
        walk = Walk(random_graph(chance))
        for _ in range(60):
            if not walk.is_long:
                getattr(walk, chance.one(STEPS))(chance)
        for entries in walk.world.ledger.values():
            for entry in entries:
                written[entry.kind].update(entry.data)
    page = data_in_the_page()
    assert written.keys() == SENTENCES.keys()
    assert dict(written) == page
