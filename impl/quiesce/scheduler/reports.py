"""Trips and clears told to the server that holds the space (seed §3), over the session that is there anyway.

Best effort: to a server without the capability, or while there is no connection, nothing is sent, and nothing is
kept to be sent later.
"""

from __future__ import annotations

from collections.abc import Callable

from quiesce.address import Scope
from quiesce.commits import Document
from quiesce.scheduler.breaker_records import BreakerEvent, Tripped
from quiesce.storage.client import Client


def report_to(client: Client) -> Callable[[BreakerEvent], None]:
    """What files a breaker's events with the client's server, which resolves the scope to the session's instance."""

    def report(event: BreakerEvent) -> None:
        document = Document(event.document.id, Scope(event.document.instance.partition(":")[0]))
        if isinstance(event, Tripped):
            client.report("trip", event.action, document)
        else:
            client.report("clear", event.action, document, event.reason.value, event.renewals, event.held_ms)

    return report
