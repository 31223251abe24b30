"""The breaker of one action and one document: steps at any time, runs in flight, the gate, housekeeping.

A run starts when its gate is open and its step lands later, when its commit has succeeded; others may start
in between. So what the breaker spaces is the *starts* of runs; what lands from runs in flight is bounded apart.
"""

# A type checker does not see that self.require(run is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .language import (
    Left,
    Record,
    action,
    constant,
    each,
    flag,
    ghost,
    invariant,
    left,
    optional,
    part,
    reachable,
    step_property,
    upto,
)
from .pair import BreakerSettings, Pair


class Run(Record):
    """A run that the document triggered, and whose commit is in flight."""

    overwrites: bool = flag()  # it changed the document where the document triggered it
    outlived: bool = flag()  # the registration that it belongs to has been retired
    overtaken: bool = flag()  # a step of a later run has landed since, on the pair that is held
    tracked: bool = flag()  # there was a pair when it was kicked off; without BRK-9 its step goes by that


class Breaker(BreakerSettings):
    """One action that reads and writes one document, against writers that do as they like.

    ``kickoff_order`` is a repair: a step that a step of a later run has overtaken is ignored.
    """

    in_flight: int = constant(2)
    kickoff_order: bool = constant(False)

    registered: bool = flag(True)
    pair: Pair = part(Pair)
    gate: Left = left(lambda c: 2 * c.cap)  # the action's echo backoff
    owed: bool = flag()  # a refused run is to be retried
    flight: list[Run | None] = each("in_flight", optional(Run))  # in the order of kickoff
    landed: int = ghost(upto(lambda c: c.in_flight + 1))  # echo steps since a run last started
    woken: int = ghost(upto(2))  # runs started since a step last landed; 2 stands for more

    @action(overwrites=bool)
    def run(self, overwrites: bool) -> None:
        """The action runs because the document changed, and its commit is kicked off."""
        self.require(self.registered)
        self.require(self.gate.over, "BRK-18")
        self.start(overwrites)

    @action(overwrites=bool)
    def retry(self, overwrites: bool) -> None:
        """A run that the scheduler owes after a conflict; it waits its turn like every other."""
        self.require(self.registered)
        self.require(self.owed)
        self.require(self.gate.over, "BRK-20")
        self.owed = False
        self.start(overwrites)

    def start(self, overwrites: bool) -> None:
        self.require(self.flying() < self.in_flight)
        for place in range(self.in_flight):
            if place == self.flying():
                self.flight[place] = Run(
                    overwrites=overwrites,
                    outlived=False,
                    overtaken=False,
                    tracked=self.rule("BRK-9") or self.pair.held(),
                )
                self.landed = 0
                self.woken = min(self.woken + 1, 2)
                return

    def flying(self) -> int:
        return sum(1 for run in self.flight if run is not None)

    @action(place="in_flight")
    def commit(self, place: int) -> None:
        """The commit of a run succeeds, and the step that the run is counts now."""
        run = self.flight[place]
        self.require(run is not None)
        dropped = run.outlived and self.rule("BRK-25")
        if not dropped and not self.is_overtaken(place):
            stood = self.stands()
            self.land(run.overwrites, run.tracked)
            for other in range(self.in_flight):
                another = self.flight[other]
                if another is not None:
                    another.overtaken = self.pair.held() and (other < place or (another.overtaken and stood))
        self.leave(place)

    def is_overtaken(self, place: int) -> bool:
        """A step of a later run has landed on the pair that is held now (kickoff_order)."""
        run = self.flight[place]
        return run is not None and run.overtaken and self.kickoff_order and self.stands()

    def stands(self) -> bool:
        """The pair is held, and nothing has ended it; housekeeping may be late."""
        return self.pair.held() and not self.pair.is_quiet(self) and not self.pair.is_settled(self)

    def land(self, overwrites: bool, tracked: bool) -> None:
        """Apply the step that a run is, and set the gate by what stands then."""
        if overwrites:
            self.pair.echo(self)
            self.landed = min(self.landed + 1, self.in_flight + 1)
        elif tracked:
            self.pair.converge(self)
        self.woken = 0
        self.regate()

    def regate(self) -> None:
        """The gate is shut for as long as the pair's deadline stands."""
        self.gate.set(self.pair.deadline)

    @action(place="in_flight")
    def refuse(self, place: int) -> None:
        """The commit of a run fails on a stale basis: no step, and a retry is owed."""
        run = self.flight[place]
        self.require(run is not None)
        if not self.rule("BRK-8"):
            self.land(run.overwrites, run.tracked)
        if not run.outlived:
            self.owed = True
        self.leave(place)

    def leave(self, place: int) -> None:
        """The run is over; those kicked off after it move up."""
        for here in range(self.in_flight - 1):
            if here >= place:
                self.flight[here] = self.flight[here + 1]
        self.flight[self.in_flight - 1] = None

    @action()
    def forget(self) -> None:
        """Housekeeping: a pair whose loop has ended without a run that could see it is cleared."""
        self.require(self.pair.tripped or self.pair.settling.running)
        self.require(self.pair.is_quiet(self) or self.pair.is_settled(self), "BRK-21")
        self.pair.clear()
        self.regate()

    @action()
    def retire(self) -> None:
        """The action's registration ends; the node record, and the gate on it, outlive it."""
        self.require(self.registered)
        self.registered = False
        self.owed = False
        if self.rule("BRK-23"):
            self.pair.clear()
        if self.rule("BRK-24"):
            self.gate.clear()
        for run in self.flight:
            if run is not None:
                run.outlived = True

    @action()
    def register(self) -> None:
        """The same action is registered anew."""
        self.require(not self.registered)
        self.registered = True

    # What the pair and its deadline are, at any time.

    @invariant("BRK-13", "BRK-19")
    def deadline_only_when_tripped(self) -> bool:
        return self.pair.deadline.over or self.pair.tripped

    @invariant("BRK-16", "BRK-17")
    def backoff_between_base_and_cap(self) -> bool:
        """A tripped pair's backoff lies between base and cap; an untripped pair has none."""
        if self.pair.tripped:
            return self.base <= self.pair.backoff <= self.cap
        return self.pair.backoff == 0

    @invariant("BRK-15")
    def deadline_runs_from_the_last_echo(self) -> bool:
        """A tripped pair's deadline is its last echo step plus its backoff, to the tick."""
        pair = self.pair
        if not pair.tripped or pair.settling.running:
            return pair.deadline.over
        if pair.since_echo >= pair.backoff:
            return pair.deadline.over
        return pair.since_echo == pair.backoff - pair.deadline.remaining

    @invariant("BRK-24")
    def gate_is_the_deadline(self) -> bool:
        return self.gate.remaining == self.pair.deadline.remaining

    @invariant("BRK-27")
    def counting_opens_a_window(self) -> bool:
        """An untripped pair counts below the threshold in an open window; a tripped one counts nothing."""
        pair = self.pair
        idle = pair.echoes == 0
        return pair.echoes < self.threshold and pair.opened.running != idle and (idle or not pair.tripped)

    @invariant("BRK-21", "BRK-22")
    def waiting_is_not_quiet(self) -> bool:
        """A loop that runs again as soon as its backoff allows never looks quiet: not when its gate opens either."""
        pair = self.pair
        return not pair.tripped or pair.since_echo > pair.backoff or pair.since_echo < self.quiet

    @invariant("BRK-28")
    def one_line_for_a_trip(self) -> bool:
        return self.pair.lines == (1 if self.pair.tripped else 0)

    @invariant("BRK-23", "BRK-24", "BRK-25")
    def nothing_outlives_the_registration(self) -> bool:
        return self.registered or (not self.pair.held() and self.gate.over)

    # How runs are spaced.

    @step_property("BRK-18", "BRK-20", on=("run", "retry"))
    def starts_wait_for_the_backoff(self, before: Breaker, overwrites: bool) -> bool:
        """While a pair stands, no run starts before the last counted step plus its backoff."""
        pair = before.pair
        return not pair.tripped or pair.settling.running or pair.since_echo >= pair.backoff

    @invariant("BRK-18")
    def landings_are_those_in_flight(self) -> bool:
        """Between two starts no more steps land than runs were in flight."""
        return self.landed + self.flying() <= self.in_flight

    # What a step does when it lands.

    @step_property("BRK-12", "BRK-13", on="commit")
    def trips_when_one_window_holds_the_threshold(self, before: Breaker, place: int) -> bool:
        """An untripped pair trips with the echo step that fills the threshold in one window, and only then."""
        pair = before.pair
        if not before.counts(place) or pair.tripped:
            return True
        if not before.echoes_at(place):
            return not self.pair.tripped
        counted = pair.echoes if pair.opened <= self.window and pair.settling <= self.cap else 0
        return self.pair.tripped == (counted + 1 >= self.threshold)

    @step_property("BRK-13", "BRK-15", "BRK-16", "BRK-17", on="commit")
    def every_echo_renews_one_step_longer(self, before: Breaker, place: int) -> bool:
        """A trip backs off for the base; each echo step after it for twice as long as the last, to the cap."""
        if not (before.echoes_at(place) and self.pair.tripped):
            return True
        pair = before.pair
        first = not pair.tripped or pair.since_echo > self.quiet or pair.settling > self.cap
        expected = self.base if first else min(2 * pair.backoff, self.cap)
        return self.pair.backoff == expected and self.pair.deadline.remaining == expected

    @step_property("BRK-13", "BRK-15", on="commit")
    def an_echo_shuts_the_gate(self, before: Breaker, place: int) -> bool:
        """A trip, and every echo step of a tripped pair, leaves the gate shut."""
        return not (before.echoes_at(place) and self.pair.tripped) or not self.gate.over

    @step_property("BRK-9", "BRK-14", "BRK-19", on="commit")
    def convergence_clears_and_lifts(self, before: Breaker, place: int) -> bool:
        """A convergence step lifts the backoff, and clears the pair (or lets it settle, as repaired)."""
        if not before.counts(place) or before.echoes_at(place):
            return True
        forgotten = self.pair.settling.running if self.clear_when_settled and before.stands() else not self.pair.held()
        return self.gate.over and forgotten

    @step_property("BRK-26", on="commit")
    def what_went_quiet_starts_afresh(self, before: Breaker, place: int) -> bool:
        """An echo step after the quiet stretch is the first of a new count, whether or not housekeeping has run."""
        quiet = before.pair.tripped and before.pair.since_echo > self.quiet
        if not (quiet and before.echoes_at(place)):
            return True
        return self.pair.echoes == 1 or (self.threshold == 1 and self.pair.backoff == self.base)

    @step_property("BRK-8", on="refuse")
    def a_refused_commit_counts_nothing(self, before: Breaker, place: int) -> bool:
        return self.pair == before.pair and self.gate.remaining == before.gate.remaining

    @step_property("BRK-25", on="commit")
    def an_older_registration_counts_nothing(self, before: Breaker, place: int) -> bool:
        run = before.flight[place]
        return run is None or not run.outlived or self.pair == before.pair

    @step_property(on="commit")
    def older_news_changes_nothing(self, before: Breaker, place: int) -> bool:
        """A step that was kicked off before the last one of the pair that is held changes nothing (kickoff_order)."""
        run = before.flight[place]
        return run is None or not run.overtaken or not before.stands() or self.pair == before.pair

    # How a pair ends.

    @step_property("BRK-21", "BRK-22", on="forget")
    def only_what_ended_is_forgotten(self, before: Breaker) -> bool:
        """Housekeeping clears a pair after the quiet stretch (or its settling), and cancels no backoff."""
        pair = before.pair
        return before.gate.over and (pair.since_echo > self.quiet or pair.settling > self.cap)

    @step_property(on="forget")
    def a_loop_never_looks_quiet(self, before: Breaker) -> bool:
        """A loop still running is never taken for one that has ended."""
        return not any(run is not None and run.overwrites for run in before.flight)

    @invariant()
    def each_wake_allows_one_run(self) -> bool:
        """Once a pair has tripped, no second run starts before the first one's step has landed."""
        return not self.pair.tripped or self.woken <= 1

    # What the proofs of the above rest on.

    @invariant()
    def a_trip_is_timed(self) -> bool:
        """The last echo step of a tripped pair is timed, and of no other."""
        return self.pair.since_echo.running == self.pair.tripped

    @invariant()
    def only_a_held_pair_settles(self) -> bool:
        """A settling period runs only with the repair, and only for a pair that is held."""
        return not self.pair.settling.running or (self.clear_when_settled and self.pair.held())

    @invariant()
    def runs_of_the_retired_are_marked(self) -> bool:
        """While the action is not registered, every run in flight has outlived its registration."""
        return self.registered or all(run is None or run.outlived for run in self.flight)

    @invariant()
    def flight_has_no_gap(self) -> bool:
        """Runs in flight lie at the front, in the order of kickoff."""
        return all(self.flight[n] is not None or self.flight[n + 1] is None for n in range(self.in_flight - 1))

    @invariant()
    def every_run_is_tracked(self) -> bool:
        """With BRK-9 in force, every run is classified against the pairs that are held when its step lands."""
        return not self.rule("BRK-9") or all(run is None or run.tracked for run in self.flight)

    # That there is something to check.

    @reachable("BRK-13")
    def trips(self) -> bool:
        return self.pair.tripped

    @reachable("BRK-16", "BRK-17")
    def reaches_the_cap(self) -> bool:
        return self.pair.backoff == self.cap

    @reachable("BRK-21")
    def looks_quiet(self) -> bool:
        return self.pair.is_quiet(self)

    @reachable("BRK-12")
    def window_lapses(self) -> bool:
        return self.pair.opened > self.window

    @reachable("BRK-24")
    def retires_with_runs_in_flight(self) -> bool:
        return not self.registered and self.flying() > 0

    @reachable("BRK-20")
    def a_retry_waits(self) -> bool:
        return self.owed and not self.gate.over

    def counts(self, place: int) -> bool:
        """The run at ``place`` has a step that counts."""
        run = self.flight[place]
        return run is not None and not run.outlived and not self.is_overtaken(place)

    def echoes_at(self, place: int) -> bool:
        """The run at ``place`` has an echo step that counts."""
        run = self.flight[place]
        return run is not None and run.overwrites and self.counts(place)
