"""A workflow whose states remember the invoices that they have sent."""

from __future__ import annotations

from typing import Any

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "invoices",
    "states": {
        "dispatch": {
            "emits": ["sent", "passed_over"],
            "retries": 3,
            "state_log": {"options": {"lock": "60s", "retention": "120s"}},
        },
        "archive": {"emits": ["kept"], "state_log": {"scope": "workflow"}},
        "thank": {"emits": ["thanked"]},
    },
    "events": {"sent": {}, "passed_over": {}, "kept": {}, "thanked": {}},
    "transitions": [
        {"from": "__start__", "to": "dispatch"},
        {"from": "dispatch", "to": "archive", "on": "sent"},
        {"from": "dispatch", "to": "thank", "on": "passed_over"},
        {"from": "archive", "to": "thank", "on": "kept"},
        {"from": "thank", "to": "__end__", "on": "thanked"},
    ],
    "schemas": {},
}
