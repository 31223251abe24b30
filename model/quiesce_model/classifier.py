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
    """One run: its causes, what it read, and what it wrote, in any order and number up to the limits.

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

    @assumption
    def the_tree_is_binary(self) -> bool:
        """The numbers of paths and leaves are those of two keys and two levels."""
        return self.paths == 7 and self.leaves == 4

    @action(instance=2, path="paths")
    def cause(self, instance: int, path: int) -> None:
        """A change at ``path`` of one instance is among the causes of the run."""
        self.require(self.caused < self.causes)
        self.require(not self.instance[instance].cause[path])
        self.instance[instance].cause[path] = True
        self.caused += 1

    @action(instance=2)
    def read(self, instance: int) -> None:
        self.require(not self.instance[instance].read)
        self.instance[instance].read = True

    @action(path="paths", a=bool, b=bool, c=bool, d=bool)
    def write(self, path: int, a: bool, b: bool, c: bool, d: bool) -> None:
        """The run writes at ``path``; a, b, c and d say which leaves differ then from their values before the run."""
        self.require(self.written < self.writes)
        self.put(path, 0, a)
        self.put(path, 1, b)
        self.put(path, 2, c)
        self.put(path, 3, d)
        self.written += 1

    def put(self, path: int, leaf: int, differs: bool) -> None:
        if self.is_under(leaf, path):
            self.write_at[path].differs[leaf] = differs
            self.changed[leaf] = differs
        else:
            self.require(not differs)

    def is_under(self, leaf: int, path: int) -> bool:
        return at_or_below(leaf + 3, path)

    # The rule, by paths.

    def is_candidate(self, instance: int) -> bool:
        """The document triggered the run, and the run read it."""
        own = self.instance[instance]
        return (self.is_caused(instance) or not self.rule("BRK-1")) and (own.read or not self.rule("BRK-2"))

    def is_caused(self, instance: int) -> bool:
        return any(self.instance[instance].cause[path] for path in range(self.paths))

    def is_echo(self, instance: int) -> bool:
        """The run is an echo step for the document: a write reaches a path that triggered it."""
        if not self.is_candidate(instance) or (instance != 0 and self.rule("BRK-11")):
            return False
        if self.rule("BRK-7"):
            return any(self.instance[instance].cause[path] and self.is_overwritten(path) for path in range(self.paths))
        return any(self.is_overwritten(path) for path in range(self.paths)) and all(
            not self.instance[instance].cause[path] or self.is_overwritten(path) for path in range(self.paths)
        )

    def is_convergence(self, instance: int) -> bool:
        return self.is_candidate(instance) and not self.is_echo(instance)

    def is_overwritten(self, cause: int) -> bool:
        return any(self.reaches(path, cause) for path in range(self.paths))

    def reaches(self, path: int, cause: int) -> bool:
        """The write at ``path`` changed what the trigger at ``cause`` points at."""
        write = self.write_at[path]
        if at_or_below(path, cause):
            return self.rule("BRK-3") and self.is_detail(path)
        if at_or_below(cause, path):
            if not self.rule("BRK-4"):
                return self.is_detail(path)
            return any(write.differs[leaf] and self.is_under(leaf, cause) for leaf in range(self.leaves))
        return not self.rule("BRK-5") and self.is_detail(path)

    def is_detail(self, path: int) -> bool:
        """There is a write detail at ``path``: what was written there differs from what it replaced."""
        return any(self.write_at[path].differs[leaf] for leaf in range(self.leaves))

    def is_counted_untracked(self, instance: int) -> bool:
        """The short way, for an action without any pair: the writes against the triggers, then the reads."""
        if instance != 0 and self.rule("BRK-11"):
            return False
        overwrote = any(self.instance[instance].cause[path] and self.is_overwritten(path) for path in range(self.paths))
        return overwrote and self.instance[instance].read

    # What it has to answer, by value.

    def changed_below(self, path: int) -> bool:
        """The run left another value at ``path`` than it found."""
        return any(self.changed[leaf] and self.is_under(leaf, path) for leaf in range(self.leaves))

    def overwrote(self, instance: int) -> bool:
        """The run read the document and changed it where the document triggered it."""
        own = self.instance[instance]
        changed = any(own.cause[path] and self.changed_below(path) for path in range(self.paths))
        return instance == 0 and own.read and changed

    @invariant("BRK-3", "BRK-7")
    def no_overwrite_is_missed(self) -> bool:
        """A run that changed what triggered it is an echo step."""
        return all(self.is_echo(instance) for instance in range(2) if self.overwrote(instance))

    @invariant("BRK-1", "BRK-2", "BRK-4", "BRK-5", "BRK-11")
    def only_overwrites_are_echoes(self) -> bool:
        """A run that left what triggered it as it was is no echo step (with one write to a run)."""
        return all(self.overwrote(instance) for instance in range(2) if self.is_echo(instance))

    @invariant("BRK-1", "BRK-2")
    def convergence_is_of_a_trigger_that_was_read(self) -> bool:
        """A document that did not trigger the run, or that it did not read, makes no step."""
        return all(
            self.is_caused(instance) and self.instance[instance].read
            for instance in range(2)
            if self.is_echo(instance) or self.is_convergence(instance)
        )

    @invariant("BRK-10")
    def the_short_way_is_invisible(self) -> bool:
        """For an action without a pair, the short classification finds exactly the echo steps of the full one."""
        return all(self.is_counted_untracked(instance) == self.is_echo(instance) for instance in range(2))

    @reachable("BRK-4")
    def a_write_above_spares_the_trigger(self) -> bool:
        """A run rewrote the whole document and left the part that triggered it as it was."""
        return self.is_convergence(0) and self.is_detail(0)

    @reachable("BRK-11")
    def another_instance_converges(self) -> bool:
        return self.is_convergence(1) and self.changed_below(0)

    @reachable("BRK-7")
    def one_of_two_triggers_is_overwritten(self) -> bool:
        causes = sum(1 for path in range(self.paths) if self.instance[0].cause[path])
        return causes == 2 and self.is_echo(0) and not self.changed_below(1)
