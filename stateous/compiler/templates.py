"""The texts of the files that `init` writes."""

from __future__ import annotations

from typing import Final

FLOW: Final = '''\
"""The workflow `{name}`: a draft is submitted and reviewed, until it is approved."""

from schemas import {context}, Review

from stateous import END, START, Workflow

{variable} = Workflow("{name}", context={context})

submitted = {variable}.event("submitted")
reviewed = {variable}.event("reviewed", payload=Review)

draft = {variable}.state("draft", emits=[submitted])
review = {variable}.state("review", emits=[reviewed])

{variable}.transition(START, draft)
{variable}.transition(draft, review, on=submitted)
{variable}.transition(review, END, on=reviewed, when="payload.approved")
{variable}.transition(review, draft, on=reviewed, otherwise=True)
'''

SCHEMAS: Final = '''\
"""The models of the workflow `{name}`: what a token knows, and what its events carry."""

import msgspec


class {context}(msgspec.Struct):
    title: str


class Review(msgspec.Struct):
    approved: bool
    note: str = ""
'''

PYPROJECT: Final = """\
[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["stateous"]
"""

SETTINGS: Final = """\
# Where the control plane listens, and how many routines run here at once.
url: '{url}'
tasks: 4
# What the history calls this supervisor; without it, the computer's name. Each running one needs its own.
# name: build-box-1
"""

ROUTINES: Final = '''\
"""The routines of this supervisor: the work of each state that it serves. Remove those it shall not serve."""

from contract import {names}

from stateous import Context, on_state
{stubs}'''

ROUTINE: Final = """

@on_state({reference})
def {function}(ctx: Context) -> {returned}:
    {docstring}
    raise NotImplementedError({problem})
"""
