"""Which triggering paths a run overwrote: the classification of one run's documents into steps.

The document is a small tree: a root with two keys, each with two keys of its own. Its seven paths are numbered
like a heap: 0 is the whole document, 1 and 2 its fields, 3 to 6 the leaves. Beside it stands the same document in
another scope instance, which the run cannot write.

The rule goes by paths and write details. What it has to answer is said by value: did the run change what a trigger
points at?
"""

from __future__ import annotations

from .language import Machine, Record, action, assumption, constant, each, flag, invariant, reachable, upto


def parent(path: int) -> int:
    """The path one key shorter; -1 for the whole document's."""
    return (path - 1) // 2


def at_or_below(path: int, other: int) -> bool:
    return path == other or parent(path) == other or parent(parent(path)) == other


def is_under(leaf: int, path: int) -> bool:
    return at_or_below(leaf + 3, path)


class Write(Record):
    """A write detail: which leaves below its path the written value differs in from the value it replaced.

    A write that differs nowhere is none: storage drops it.
    """

    differs: list[bool] = each("leaves", flag())


class Instance(Record):
    """One scope instance of the document, as a run sees it."""

    cause: list[bool] = each("paths", flag())  # the paths whose change triggered the run
    read: bool = flag()  # the run read it


class Classifier(Machine):
    """One run: its causes, what it read, what it wrote, and how its documents are classified at kickoff.

    The run serves instance 0, and its writes, which name no instance, resolve to that one.
    """

    paths: int = constant(7)
    leaves: int = constant(4)
    causes: int = constant(2)
    writes: int = constant(1)

    instance: list[Instance] = each(2, Instance)
    write_at: list[Write] = each("paths", Write)
    changed: list[bool] = each("leaves", flag())  # the leaves whose value the run has changed
    caused: int = upto(lambda c: c.causes)
    written: int = upto(lambda c: c.writes)
    kicked_off: bool = flag()
    overwritten: list[bool] = each("paths", flag())  # the paths that a write reaches, as found at kickoff

    @assumption
    def the_tree_is_binary(self) -> bool:
        """The numbers of paths and leaves are those of two keys and two levels."""
        return self.paths == 7 and self.leaves == 4

    @action(instance=2, path="paths")
    def cause(self, instance: int, path: int) -> None:
        """A change at ``path`` of one instance is among the causes of the run."""
        self.require(not self.kicked_off)
        self.require(self.caused < self.causes)
        self.require(not self.instance[instance].cause[path])
        self.instance[instance].cause[path] = True
        self.caused += 1

    @action(instance=2)
    def read(self, instance: int) -> None:
        self.require(not self.kicked_off)
        self.require(not self.instance[instance].read)
        self.instance[instance].read = True

    @action(path="paths", a=bool, b=bool, c=bool, d=bool)
    def write(self, path: int, a: bool, b: bool, c: bool, d: bool) -> None:
        """The run writes at ``path``; a, b, c and d say which leaves differ then from their values before the run."""
        self.require(not self.kicked_off)
        self.require(self.written < self.writes)
        self.put(path, 0, a)
        self.put(path, 1, b)
        self.put(path, 2, c)
        self.put(path, 3, d)
        self.written += 1

    def put(self, path: int, leaf: int, differs: bool) -> None:
        if is_under(leaf, path):
            self.write_at[path].differs[leaf] = differs
            self.changed[leaf] = differs
        else:
            self.require(not differs)

    @action()
    def kick_off(self) -> None:
        """The commit is kicked off: which paths the run overwrote is read now, while its write details are staged."""
        self.require(not self.kicked_off)
        self.kicked_off = True
        for path in range(self.paths):
            for cause in range(self.paths):
                if self.reaches(path, cause):
                    self.overwritten[cause] = True

    # The rule, by paths.

    def reaches(self, path: int, cause: int) -> bool:
        """The write at ``path`` changed what a trigger at ``cause`` points at."""
        below = at_or_below(path, cause)
        above = at_or_below(cause, path) and not below
        beside = not below and not above
        return (
            (below and self.rule("BRK-3") and self.differs(path, path))
            or (above and self.differs(path, cause if self.rule("BRK-4") else path))
            or (beside and not self.rule("BRK-5") and self.differs(path, path))
        )

    def differs(self, path: int, part: int) -> bool:
        """What was written at ``path`` differs at ``part`` of it from what it replaced."""
        return any(self.write_at[path].differs[leaf] and is_under(leaf, part) for leaf in range(self.leaves))

    def is_caused(self, instance: int) -> bool:
        return any(self.instance[instance].cause[path] for path in range(self.paths))

    def is_candidate(self, instance: int) -> bool:
        """The document triggered the run, and the run read it."""
        own = self.instance[instance]
        return (self.is_caused(instance) or not self.rule("BRK-1")) and (own.read or not self.rule("BRK-2"))

    def is_overwritten(self, instance: int) -> bool:
        """A path of the document that triggered the run is overwritten."""
        own = self.instance[instance]
        hit = any(own.cause[path] and self.overwritten[path] for path in range(self.paths))
        missed = any(own.cause[path] and not self.overwritten[path] for path in range(self.paths))
        same = instance == 0 or not self.rule("BRK-11")
        return same and hit and (self.rule("BRK-7") or not missed)

    def is_echo(self, instance: int) -> bool:
        return self.is_candidate(instance) and self.is_overwritten(instance)

    def is_convergence(self, instance: int) -> bool:
        return self.is_candidate(instance) and not self.is_overwritten(instance)

    def is_echo_untracked(self, instance: int) -> bool:
        """The short way, for an action without any pair: the overwritten triggers first, and only then the reads."""
        return self.is_overwritten(instance) and (self.instance[instance].read or not self.rule("BRK-2"))

    # What it has to answer, by value.

    def changed_at(self, path: int) -> bool:
        """The run left another value at ``path`` than it found."""
        return any(self.changed[leaf] and is_under(leaf, path) for leaf in range(self.leaves))

    def overwrote(self, instance: int) -> bool:
        """The run read the document and changed it where the document triggered it."""
        own = self.instance[instance]
        changed = any(own.cause[path] and self.changed_at(path) for path in range(self.paths))
        return instance == 0 and own.read and changed

    @invariant("BRK-3", "BRK-7")
    def no_overwrite_is_missed(self) -> bool:
        """A run that changed what triggered it is an echo step."""
        return not self.kicked_off or all(self.is_echo(n) or not self.overwrote(n) for n in range(2))

    @invariant("BRK-1", "BRK-2", "BRK-4", "BRK-5", "BRK-11")
    def only_overwrites_are_echoes(self) -> bool:
        """A run that left what triggered it as it was is no echo step (a run of one write)."""
        return not self.kicked_off or all(self.overwrote(n) or not self.is_echo(n) for n in range(2))

    @invariant("BRK-1", "BRK-2")
    def steps_are_of_triggers_that_were_read(self) -> bool:
        """A document that did not trigger the run, or that it did not read, makes no step."""
        return not self.kicked_off or all(
            (self.is_caused(n) and self.instance[n].read) or not (self.is_echo(n) or self.is_convergence(n))
            for n in range(2)
        )

    @invariant("BRK-10")
    def the_short_way_is_invisible(self) -> bool:
        """For an action without a pair, the short classification finds exactly the echo steps of the full one."""
        return not self.kicked_off or all(self.is_echo_untracked(n) == self.is_echo(n) for n in range(2))

    @reachable("BRK-4")
    def a_write_above_spares_the_trigger(self) -> bool:
        """A run rewrote the whole document and left the part that triggered it as it was."""
        return self.kicked_off and self.is_convergence(0) and self.differs(0, 0)

    @reachable("BRK-11")
    def another_instance_converges(self) -> bool:
        return self.kicked_off and self.is_convergence(1) and self.changed_at(0)

    @reachable("BRK-7")
    def one_of_two_triggers_is_overwritten(self) -> bool:
        own = self.instance[0]
        hit = any(own.cause[path] and self.overwritten[path] for path in range(self.paths))
        missed = any(own.cause[path] and not self.overwritten[path] for path in range(self.paths))
        return self.kicked_off and hit and missed
