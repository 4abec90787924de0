"""The workflow that the testing kit is tried on, as a flow.py writes it, and its contract."""

from __future__ import annotations

import msgspec

from stateous import END, ERROR, START, TIMEOUT, Context, Event, StateRef, Workflow, on_state


class Order(msgspec.Struct):
    title: str
    pages: int = 0


class Review(msgspec.Struct):
    approved: bool
    note: str = ""


class Finding(msgspec.Struct):
    severe: bool = False


orders = Workflow("orders", context=Order)
security = Workflow("security")

submitted = orders.event("submitted")
reviewed = orders.event("reviewed", payload=Review)
nudged = orders.event("nudged")
shipped = orders.event("shipped")
looked = security.event("looked", payload=Finding)

look = security.state("look", emits=[looked], retries=1)
security.transition(START, look)
security.transition(look, END, on=looked)

draft = orders.state("draft", emits=[submitted], retries=2)
review = orders.state("review", emits=[reviewed, nudged], timeout="6h")
checks = orders.state("checks", parallel=[security])
ship = orders.state("ship", emits=[shipped])
mend = orders.state("mend", emits=[submitted])
orders.transition(START, draft)
orders.transition(draft, review, on=submitted)
orders.transition(draft, mend, on=ERROR)
orders.transition(mend, review, on=submitted)
orders.transition(review, checks, on=reviewed, when="payload.approved")
orders.transition(review, draft, on=reviewed, otherwise=True)
orders.transition(review, review, on=nudged)
orders.transition(review, draft, on=TIMEOUT)
orders.transition(checks, ship, on="joined")
orders.transition(ship, END, on=shipped)


class events:  # noqa: N801 - as a contract names it
    class submitted(Event):  # noqa: N801
        name = "submitted"

    class reviewed(Event):  # noqa: N801
        name = "reviewed"
        model = Review

    class nudged(Event):  # noqa: N801
        name = "nudged"

    class shipped(Event):  # noqa: N801
        name = "shipped"

    class looked(Event):  # noqa: N801
        name = "looked"
        model = Finding


class states:  # noqa: N801 - as a contract names it
    draft = StateRef("draft", emits=("submitted",))
    review = StateRef("review", emits=("reviewed", "nudged"))
    ship = StateRef("ship", emits=("shipped",))
    mend = StateRef("mend", emits=("submitted",))
    look = StateRef("security/look", emits=("looked",))


@on_state(states.draft)
def write(ctx: Context) -> events.submitted:
    ctx.note(f"writing {ctx['title']}")
    ctx["pages"] = ctx.get("pages", 0) + 3
    ctx.memory["visits"] = ctx.visit
    return events.submitted()


@on_state(states.review)
async def read(ctx: Context) -> events.reviewed | None:
    if ctx.memory.get("asked") is None:
        ctx.memory["asked"] = ctx.visit
        ctx.schedule(events.reviewed(approved=False), after="2h")
        return None
    return events.reviewed(approved=True)


@on_state(states.ship)
def send(ctx: Context) -> events.shipped:
    return events.shipped()


@on_state(states.look)
async def look_at(ctx: Context) -> events.looked:
    return events.looked(severe=False)
