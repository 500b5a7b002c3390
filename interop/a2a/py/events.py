"""The one form of tasks, messages and events that the cases are written for."""

from __future__ import annotations

from dataclasses import dataclass

KEY = 'sekret'
SESSION = 'session'


@dataclass
class Event:
    kind: str
    """`task`, `message`, `status` or `artifact`."""
    id: str = ''
    state: str = ''
    said: str = ''
    """The text of the message, also of that in a status."""
    result: str = ''
    """The text of the artifacts."""
    append: bool = False
    last: bool = False
    final: bool = True
    """Version 0.3 says which status is the last one of a stream."""


@dataclass
class Hook:
    """A webhook of the receiver."""

    url: str
    token: str = 'push token'
