"""Mutants of the rules that say which runs count: the classifier's."""

from __future__ import annotations

from .mutant import rule
from .places import BREAKER, ECHO

WHICH_RUNS_COUNT = (
    rule(
        "causeless",
        "BRK-1",
        ECHO,
        "    overwritten: set[Entity] = set()\n    if paths:\n",
        "    for write in (writes := tuple(writes)):\n"
        "        paths.setdefault(write.address.entity, [()])\n"
        "    overwritten: set[Entity] = set()\n    if paths:\n",
        "a document that the run wrote counts though its change did not cause the run",
    ),
    rule(
        "unread",
        "BRK-2",
        ECHO,
        "        for document in candidates\n        if document in read\n",
        "        for document in candidates\n",
        "a document counts though the run did not read it",
    ),
    rule(
        "deep_reads_only",
        "BRK-2",
        ECHO,
        "chain(reads.deep, reads.shallow)",
        "reads.deep",
        "a document that was read without looking into it does not count",
    ),
    rule(
        "shallow_reads_only",
        "BRK-2",
        ECHO,
        "chain(reads.deep, reads.shallow)",
        "reads.shallow",
        "a document that was read deep does not count",
    ),
    rule(
        "below_never_reaches",
        "BRK-3",
        ECHO,
        "        if at_or_below(written, trigger):\n",
        "        if written == trigger:\n",
        "a write below the triggering path does not overwrite it",
    ),
    rule(
        "at_never_reaches",
        "BRK-3",
        ECHO,
        "        if at_or_below(written, trigger):\n",
        "        if at_or_below(written, trigger) and written != trigger:\n",
        "a write at the triggering path is taken for one above it, which only looks the same",
        "what a write at a path changes is what differs at that path, whichever branch asks",
    ),
    rule(
        "equal_writes_overwrite",
        "BRK-3",
        ECHO,
        "changes = not equal(write.previous, write.value)",
        "changes = True",
        "a write of the value that was there overwrites",
    ),
    rule(
        "above_counts_anything",
        "BRK-4",
        ECHO,
        "rest = trigger[len(written) :]",
        "rest = ()",
        "a write above the triggering path overwrites it when it changes anything",
    ),
    rule(
        "above_never_reaches",
        "BRK-4",
        ECHO,
        "elif at_or_below(trigger, written):",
        "elif trigger != trigger:",
        "a write above the triggering path never overwrites it",
    ),
    rule(
        "beside_reaches",
        "BRK-5",
        ECHO,
        "            if not equal(at(write.previous, rest), at(write.value, rest)):\n                return True\n",
        "            if not equal(at(write.previous, rest), at(write.value, rest)):\n                return True\n"
        "        elif not equal(write.previous, write.value):\n            return True\n",
        "a write to another field of the document overwrites",
    ),
    rule(
        "whole_document_is_its_root",
        "BRK-6",
        ECHO,
        "        if at_or_below(written, trigger):\n",
        "        if at_or_below(written, trigger) and (trigger or not written):\n",
        "a run that the whole document triggered overwrites it only by writing the whole of it",
    ),
    rule(
        "first_trigger_only",
        "BRK-7",
        ECHO,
        "if _reaches_any(write, paths[document]):",
        "if _reaches_any(write, paths[document][:1]):",
        "of several triggering paths only the first is looked at",
    ),
    rule(
        "every_trigger",
        "BRK-7",
        ECHO,
        "if _reaches_any(write, paths[document]):",
        "if all(_reaches_any(write, [path]) for path in paths[document]):",
        "a document is overwritten only if one write reaches each of its triggering paths",
    ),
    rule(
        "two_steps_a_document",
        "BRK-7",
        ECHO,
        "        candidates = capture.triggers\n",
        "        candidates = capture.triggers + tuple(capture.overwritten)\n",
        "an overwritten document of a tracked action makes two steps",
    ),
    rule(
        "tracked_at_kickoff",
        "BRK-9",
        BREAKER,
        "tracked=self.tracks(action))",
        "tracked=self.tracks(action)\n            and any(pair.window_opened <= capture.kickoff"
        " for pair in self._actions[id(action)].pairs.values()))",
        "steps go by the pairs that were held at kickoff",
    ),
    rule(
        "never_tracked",
        "BRK-9",
        BREAKER,
        "tracked=self.tracks(action))",
        "tracked=False)",
        "every action is classified as one without a pair",
    ),
    rule(
        "always_tracked",
        "BRK-10",
        ECHO,
        "    if tracked:\n",
        "    if tracked or capture.triggers:\n",
        "an action without a pair has all its triggers looked at",
    ),
    rule(
        "writes_by_bare_id",
        "BRK-11",
        ECHO,
        "            document = write.address.entity\n",
        "            own = write.address.entity\n"
        "            document = next((one for one in paths if one.id == own.id), own)\n",
        "a write matches a trigger in whatever space or instance, by the id alone",
    ),
    rule(
        "writes_across_instances",
        "BRK-11",
        ECHO,
        "            document = write.address.entity\n",
        "            own = write.address.entity\n"
        "            document = next((one for one in paths if (one.space, one.id) == (own.space, own.id)), own)\n",
        "two scope instances of a document pass for one",
    ),
    rule(
        "writes_across_spaces",
        "BRK-11",
        ECHO,
        "            document = write.address.entity\n",
        "            own = write.address.entity\n"
        "            same = (one for one in paths if (one.instance, one.id) == (own.instance, own.id))\n"
        "            document = next(same, own)\n",
        "documents of two spaces with one id pass for one",
    ),
    rule(
        "reads_by_bare_id",
        "BRK-11",
        ECHO,
        "        if address.entity in wanted:\n            found.add(address.entity)\n",
        "        if same := {one for one in wanted if one.id == address.entity.id}:\n            found |= same\n",
        "a read matches a document in whatever space or instance, by the id alone",
    ),
    rule(
        "pairs_by_bare_id",
        "BRK-11",
        BREAKER,
        "        return held.pairs.get(document) if held is not None else None\n",
        "        pairs = held.pairs.values() if held is not None else ()\n"
        "        return next((pair for pair in pairs if pair.document.id == document.id), None)\n",
        "a pair is found by the document's id alone",
    ),
)
