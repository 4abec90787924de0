"""The models of the workflow `invoices`."""

import msgspec


class Invoice(msgspec.Struct):
    invoice: str


class Dispatched(msgspec.Struct):
    receipt: str


class PassedOver(msgspec.Struct):
    reason: str
