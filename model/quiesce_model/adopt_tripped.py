"""Adoption and the breaker: a session that adopts makes no step, whatever its pair is doing."""

from __future__ import annotations

from .language import action, constant, flag, ghost, invariant, part, reachable, step_property
from .pair import BreakerSettings, Pair


class AdoptTripped(BreakerSettings):
    """One session's derivation, which wants a value of a document that others write too, and the breaker's pair.

    ``adoption_converges`` is a repair: adopting for a document that had made the action dirty is a convergence step,
    as a run that finds what it wants is.
    """

    adoption_converges: bool = constant(False)

    sees: bool = flag()  # the document, here
    wants: bool = flag()
    dirty: bool = flag()
    by_document: bool = flag()
    pair: Pair = part(Pair)
    agrees: bool = ghost(flag())  # since its last echo step the session has had what it wants
    adopted: bool = ghost(flag())  # and that by a row

    @action(value=bool, row=bool)
    def deliver(self, value: bool, row: bool) -> None:
        """A window brings the document, perhaps with the row of a run that found what it wants there."""
        if value != self.sees:
            self.sees = value
            self.dirty = True
            self.by_document = True
            self.agrees = False
            self.adopted = False
        if row and value == self.wants:
            if self.adoption_converges and self.by_document:
                self.pair.converge(self)
            self.adopted = self.by_document
            self.agrees = True
            self.dirty = False
            self.by_document = False

    @action()
    def change_mind(self) -> None:
        """Another input of the action changes."""
        self.wants = not self.wants
        self.dirty = True

    @action()
    def run(self) -> None:
        """The action runs, and what it writes is committed at once."""
        self.require(self.dirty)
        self.require(self.pair.deadline.over)
        found = self.sees == self.wants
        if self.by_document:
            if found:
                self.pair.converge(self)
            else:
                self.pair.echo(self)
        self.agrees = found
        self.adopted = False
        self.sees = self.wants
        self.dirty = False
        self.by_document = False

    @action()
    def forget(self) -> None:
        """Housekeeping."""
        self.require(self.pair.is_quiet(self) or self.pair.is_settled(self))
        self.pair.clear()

    @step_property(on="deliver")
    def a_window_makes_no_step(self, before: AdoptTripped, value: bool, row: bool) -> bool:
        """Neither the news of a document nor a row changes the pair or opens the gate."""
        return self.pair == before.pair

    @step_property(on="deliver")
    def adopting_agrees_as_running_does(self, before: AdoptTripped, value: bool, row: bool) -> bool:
        """Where a run would have been a convergence step, adopting is (adoption_converges)."""
        changed = before.by_document or value != before.sees
        adopts = row and value == before.wants and changed
        return not adopts or (self.pair.deadline.over and (not self.pair.held() or self.pair.settling.running))

    @invariant()
    def what_agrees_waits_for_nothing(self) -> bool:
        """A session that has what it wants, as far as it knows, is held back by no loop (adoption_converges)."""
        return not self.adopted or self.pair.deadline.over

    @invariant()
    def no_wait_is_longer_than_the_cap(self) -> bool:
        return self.pair.deadline <= self.cap

    @invariant()
    def the_backoff_is_at_most_the_cap(self) -> bool:
        return self.pair.backoff <= self.cap

    @reachable()
    def adopts_behind_a_shut_gate(self) -> bool:
        """What the row settles is not run at the wake."""
        return self.adopted and self.pair.tripped and not self.dirty
