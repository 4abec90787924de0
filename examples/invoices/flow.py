"""The workflow `invoices`: an invoice is sent to the billing system once, however often it is asked for."""

from schemas import Dispatched, Invoice, PassedOver

from stateous import END, START, StateLog, Workflow

invoices = Workflow("invoices", context=Invoice)

dispatched = invoices.event("dispatched", payload=Dispatched)
passed_over = invoices.event("passed_over", payload=PassedOver)

dispatch = invoices.state(
    "dispatch",
    emits=[dispatched, passed_over],
    retries=5,
    state_log=StateLog(options={"retention": "90d", "lock": "30m"}),
)

invoices.transition(START, dispatch)
invoices.transition(dispatch, END, on=dispatched)
invoices.transition(dispatch, END, on=passed_over)
