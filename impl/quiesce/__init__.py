"""The runtime: a reactive scheduler for many writers, its store and its server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quiesce.connecting import connect, open
    from quiesce.runtime import Session
    from quiesce.scheduler.run import NotYet, RunAgain

__all__ = ["NotYet", "RunAgain", "Session", "connect", "open"]


def __getattr__(name: str) -> Any:
    """The public names, loaded when they are used: a part of the package does not load all of it."""
    if name in ("connect", "open"):
        from quiesce import connecting

        return getattr(connecting, name)
    if name == "Session":
        from quiesce.runtime import Session

        return Session
    if name in ("NotYet", "RunAgain"):
        from quiesce.scheduler import run

        return getattr(run, name)
    raise AttributeError(f"module 'quiesce' has no attribute {name!r}")
