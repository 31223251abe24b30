"""From a walk that found something to a short one that finds it still."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .interpreted import Readable
from .program import Program

EXPANSIONS = 60_000
"""States that shortening may expand: a second or two, whatever the walk's length."""

State = tuple[int, ...]


class Shortener:
    """Shortens walks on which watch number ``watch`` strikes (Zeller and Hildebrandt's delta debugging, 2002)."""

    def __init__(self, program: Program, functions: Readable, watch: int) -> None:
        at = program.watches[watch].at
        judge = functions.judge_state if at == "state" else functions.judge_expanded
        self.strikes: Callable[[State], bool] = lambda state: watch in judge(state)
        self.expand = functions.expand
        self.initial = program.initial
        self.left = EXPANSIONS

    def shorten(self, moves: Sequence[int]) -> tuple[State, ...]:
        """The states of a run on which the watch strikes in the last; no longer than the walk.

        Raises ValueError if it strikes nowhere on the walk itself.
        """
        found = self.replay(moves)
        if found is None:
            raise ValueError("the watch does not strike on this walk")
        best = self.cut(*found)
        size = max(1, len(best[0]) // 2)
        while True:
            before = len(best[0])
            at = 0
            while at < len(best[0]) and self.left > 0:
                shorter = self.replay([*best[0][:at], *best[0][at + size :]])
                if shorter is not None and len(shorter[0]) < len(best[0]):
                    best = self.cut(*shorter)
                else:
                    at += size
            if self.left <= 0 or (size == 1 and len(best[0]) == before):
                return tuple(best[1])
            size = max(1, size // 2)

    def cut(self, moves: list[int], path: list[State]) -> tuple[list[int], list[State]]:
        """The run with every stretch taken out that one step replaces."""
        places = {state: place for place, state in enumerate(path)}
        short: tuple[list[int], list[State]] = ([], [path[0]])
        at = 0
        while at < len(moves):
            self.left -= 1
            ahead = [(places[new], move) for move, new in self.expand(path[at]) if places.get(new, 0) > at]
            at, move = max(ahead, default=(at + 1, moves[at]))
            short[0].append(move)
            short[1].append(path[at])
        return short

    def replay(self, moves: Sequence[int]) -> tuple[list[int], list[State]] | None:
        """Take the moves that are possible, leave out the others and every detour back to a state that was there
        before, and end where the watch strikes; None if it does not."""
        taken: list[int] = []
        path = [self.initial]
        places = {self.initial: 0}
        if self.strikes(self.initial):
            return taken, path
        for move in moves:
            self.left -= 1
            new = next((new for number, new in self.expand(path[-1]) if number == move), None)
            if new is None:
                continue
            if new in places:
                for state in path[places[new] + 1 :]:
                    del places[state]
                del path[places[new] + 1 :]
                del taken[places[new] :]
                continue
            places[new] = len(path)
            path.append(new)
            taken.append(move)
            if self.strikes(new):
                return taken, path
        return None
