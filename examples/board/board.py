"""A board that two terminals share: cards that anyone adds, moves and drops, at the same time.

    quiesce serve --db /tmp/board --dev              in one terminal
    python examples/board/board.py ann               in a second
    python examples/board/board.py ben               in a third, and type in both

A card is a document. What you type is one transaction: it takes effect here at once, and if somebody was faster it is
taken back together with what they did, and tried again on that.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import uuid
from collections.abc import Callable

from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.storage.notification import Notification, NotificationKind
from quiesce.storage.socket import Disconnected, SocketSession, session
from quiesce.storage.transaction import Settled, Transaction
from quiesce.values import Maybe, is_array, is_object

ORDER = Document("order")
COLUMNS = ("todo", "doing", "done")
HELP = "add TEXT · move N todo|doing|done · drop N · quit"


def card(id: str) -> Document:
    """A card's document."""
    return Document(f"card/{id}")


def ids_in(order: Maybe) -> list[str]:
    """The cards' ids in the order of the board."""
    return [id for id in order if isinstance(id, str)] if is_array(order) else []


class Board:
    """The shared board as one session sees it."""

    def __init__(self, held: SocketSession, show: Callable[[str], None]) -> None:
        self._held = held
        self._show = show
        self._replica = held.client.replica
        self._replica.subscribe(self._changed)

    def _changed(self, notification: Notification) -> None:
        if notification.kind is NotificationKind.REVERT:
            self._show("  (somebody was faster: what you did is taken back and tried again)")
        if notification.kind is not NotificationKind.COMMIT:
            self._show(self.text())

    def text(self) -> str:
        """The board in lines; the numbers are what the commands take."""
        lines: list[str] = []
        ids = ids_in(self._replica.visible(ORDER))
        for column in COLUMNS:
            lines.append(column)
            for number, id in enumerate(ids, 1):
                value = self._replica.visible(card(id))
                if is_object(value) and value.get("column") == column:
                    lines.append(f"  {number:>2}  {value.get('text')}  ({value.get('by')})")
        return "\n".join(lines)

    async def run(self, change: Callable[[Transaction], None]) -> None:
        """One change as a transaction; run again on newer state for as long as somebody is faster."""
        while True:
            transaction = self._replica.begin()
            change(transaction)
            result = await self._held.settled(transaction.commit())
            if result.settled is Settled.STALE:
                continue
            if result.settled is not Settled.COMMITTED:
                self._show(f"  ({result.settled.value}: {result.message})")
            self._show(self.text())
            return

    async def add(self, text: str, by: str) -> None:
        """A new card at the end."""
        id = uuid.uuid4().hex[:8]

        def change(transaction: Transaction) -> None:
            transaction.write(card(id), (), {"text": text, "column": "todo", "by": by})
            transaction.write(ORDER, (), [*ids_in(transaction.read(ORDER)), id])

        await self.run(change)

    async def move(self, number: int, column: str) -> None:
        """A card to another column."""

        def change(transaction: Transaction) -> None:
            ids = ids_in(transaction.read(ORDER))
            if 1 <= number <= len(ids):
                transaction.write(card(ids[number - 1]), ("column",), column)

        await self.run(change)

    async def drop(self, number: int) -> None:
        """A card away."""

        def change(transaction: Transaction) -> None:
            ids = ids_in(transaction.read(ORDER))
            if 1 <= number <= len(ids):
                transaction.delete(card(ids[number - 1]))
                transaction.delete(ORDER, (str(number - 1),))

        await self.run(change)

    async def obey(self, line: str, by: str) -> bool:
        """Do what a line says. False when it says to stop."""
        command, _, rest = line.strip().partition(" ")
        number, _, column = rest.partition(" ")
        if command == "quit":
            return False
        if command == "add" and rest:
            await self.add(rest, by)
        elif command == "move" and number.isdigit() and column in COLUMNS:
            await self.move(int(number), column)
        elif command == "drop" and number.isdigit():
            await self.drop(int(number))
        elif command:
            self._show(HELP)
        return True


async def main(name: str, url: str, token: str | None) -> None:
    """One terminal."""

    def show(text: str) -> None:
        print(text, flush=True)

    async with session(url, "board", token or name, Counts(quiet=True)) as held:
        try:
            await held.ready(held.client.watch(Watch("order"), Watch("card/", prefix=True)))
        except Disconnected as gone:
            sys.exit(str(gone))
        board = Board(held, show)
        show(HELP)
        show(board.text())
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
        while (line := await lines.get()) and await board.obey(line, name):
            pass
        loop.remove_reader(sys.stdin)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--url", default="ws://127.0.0.1:7447/sync")
    parser.add_argument("--token", help="a token made with `quiesce token`, for a server without --dev")
    options = parser.parse_args()
    asyncio.run(main(options.name, options.url, options.token))
