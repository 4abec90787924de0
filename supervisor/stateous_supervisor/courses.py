"""What a call of a routine comes to, step by step: followed on the loop of an `async def` one, or here and now."""

from __future__ import annotations

from collections.abc import Callable, Generator
from inspect import isawaitable
from typing import Any, TypeVar

Wanted = TypeVar("Wanted")


def follow(course: Generator[Wanted, Any, Any], done: Callable[[Wanted], Any]) -> Any:
    """Follow a course to its end: it is sent what `done` makes of each of its wishes, or has that raised in it."""
    asked = course.send
    value: Any = None
    try:
        while True:
            wanted = asked(value)
            try:
                value, asked = done(wanted), course.send
            except BaseException as problem:  # noqa: BLE001 - it is thrown on
                value, asked = problem, course.throw
    except StopIteration as end:
        return end.value


async def follow_async(course: Generator[Wanted, Any, Any], done: Callable[[Wanted], Any]) -> Any:
    """`follow`, which awaits what can be awaited."""
    asked = course.send
    value: Any = None
    try:
        while True:
            wanted = asked(value)
            try:
                found = done(wanted)
                value, asked = (await found if isawaitable(found) else found), course.send
            except BaseException as problem:  # noqa: BLE001 - it is thrown on
                value, asked = problem, course.throw
    except StopIteration as end:
        return end.value
