"""A right flow. Each broken one is this one with a line or two that differ, or are more."""

from typing import Annotated, Literal

import msgspec

from stateous import END, ERROR, JOINED, START, TIMEOUT, Workflow


class Order(msgspec.Struct):
    title: str
    amount: int = 0
    level: Literal["low", "high"] = "low"
    tags: list[str] = []
    note: str | None = None


class Review(msgspec.Struct):
    approved: bool
    score: Annotated[int, msgspec.Meta(ge=0, le=10)]
    kind: Literal["brief", "full", "final"]
    reason: str | None = None


class Customer(msgspec.Struct):
    title: str
    limit: int = 100


class Answer(msgspec.Struct):
    good: bool


credit = Workflow("credit", context=Customer)
answered = credit.event("answered", payload=Answer)
done = credit.event("done")
ask = credit.state("ask", emits=[answered])
told = credit.state("told", emits=[done])
credit.transition(START, ask)
credit.transition(ask, told, on=answered)
credit.transition(told, END, on=done)

orders = Workflow("orders", context=Order)
submitted = orders.event("submitted")
reviewed = orders.event("reviewed", payload=Review)
draft = orders.state("draft", emits=[submitted], timeout="6h", retries=2)
checks = orders.state("checks", parallel=[credit], inputs=["title"])
review = orders.state("review", emits=[reviewed])
orders.transition(START, draft)
orders.transition(draft, checks, on=submitted)
orders.transition(draft, END, on=TIMEOUT)
orders.transition(draft, END, on=ERROR)
orders.transition(checks, review, on=JOINED, when="branches.all(payload.good)")
orders.transition(checks, draft, on=JOINED, otherwise=True)
orders.transition(review, END, on=reviewed, when="payload.approved")
orders.transition(review, draft, on=reviewed, otherwise=True)
