"""The work of the workflow `invoices`: whoever gets the item asks the billing system, and nobody else does."""

from __future__ import annotations

import os

import aiohttp
from contract import events, states

from stateous import Context, Skipped, on_state

BILLING = os.environ.get("BILLING", "http://127.0.0.1:8090")


@on_state(states.dispatch)
async def dispatch(ctx: Context) -> events.dispatched | events.passed_over:
    invoice = ctx["invoice"]
    async with aiohttp.ClientSession(BILLING, raise_for_status=True) as billing:
        receipt = await ctx.items.run(invoice, "invoice", send, billing, invoice)
        if isinstance(receipt, Skipped):
            ctx.note(receipt.reason)
            return events.passed_over(reason=receipt.reason)
        async with billing.post(f"/receipts/{receipt}/filed"):
            return events.dispatched(receipt=receipt)


async def send(billing: aiohttp.ClientSession, invoice: str) -> str:
    """The receipt of the billing system for an invoice that is sent to it."""
    async with billing.get(f"/invoices/{invoice}/customer") as answer:
        customer = await answer.json()
    # A computer that dies between the billing system's answer and its record would send again: the key tells.
    key = {"Idempotency-Key": invoice}
    async with billing.post(f"/invoices/{invoice}/dispatch", json=customer, headers=key) as answer:
        return (await answer.json())["receipt"]
