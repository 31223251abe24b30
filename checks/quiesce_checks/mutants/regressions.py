"""Mutants in the likeness of what has gone wrong before, in schedulers and echo detectors of this kind."""

from __future__ import annotations

from .mutant import Mutant
from .places import BREAKER, ECHO, PAIRS, POLICY


def regression(name: str, kind: str, file: str, old: str, new: str, what: str, equivalent: str | None = None) -> Mutant:
    return Mutant(name, "regression", kind, file, old, new, what, equivalent)


REGRESSIONS = (
    regression(
        "burst_for_each_renewal",
        "renewed by a burst",
        BREAKER,
        "            self._back_off(pair, min(self.policy.echo_backoff_max_ms, 2 * pair.step_ms), now)\n",
        "            pair.tripped_at, pair.echoes = None, 1\n",
        "an echo step after the deadline unlocks the pair, which then counts up to the threshold again",
    ),
    regression(
        "matched_by_id",
        "a bare document id",
        ECHO,
        "            paths.setdefault(cause.address.entity, []).append(cause.address.path)\n",
        "            same = next((one for one in paths if one.id == cause.address.entity.id), cause.address.entity)\n"
        "            paths.setdefault(same, []).append(cause.address.path)\n",
        "causes in two spaces or instances with one id make one trigger",
    ),
    regression(
        "document_named_by_scope",
        "a label too short",
        "address.py",
        'return f"{self.space}/{self.instance}/{self.id}"',
        'return f"{self.space}/" + self.instance.partition(":")[0] + f"/{self.id}"',
        "a line names the scope of the document, and not the instance",
    ),
    regression(
        "any_write_to_the_document",
        "a field beside",
        ECHO,
        "        written = write.address.path\n        if at_or_below(written, trigger):\n",
        "        written = write.address.path\n        if True:\n",
        "any changing write to the document is an echo, whatever field triggered the run",
    ),
    regression(
        "ten_second_window",
        "a window too short",
        POLICY,
        "echo_window_ms: int = 60_000",
        "echo_window_ms: int = 10_000",
        "the window is shorter than a slow loop takes for the threshold",
    ),
    regression(
        "steps_at_kickoff",
        "opened meanwhile",
        BREAKER,
        "tracked=self.tracks(action))",
        "tracked=any(\n            pair.last_echo <= capture.kickoff and pair.tripped_at is not None\n"
        "            for pair in self._table\n        ))",
        "a run in flight goes by the pairs as they were when it started",
    ),
    regression(
        "actions_by_label",
        "ids that collide",
        BREAKER,
        "        held = self._actions.get(id(action))\n        return held.pairs.get(document) if held",
        "        held = next((h for h in self._actions.values() if h.action.label == action.label), None)\n"
        "        return held.pairs.get(document) if held",
        "two actions with one label share their pairs",
    ),
    regression(
        "opaque_values_equal",
        "a shallow comparison",
        ECHO,
        "changes = not equal(write.previous, write.value)",
        "changes = type(write.previous) is not type(write.value)",
        "two values of one type are taken for equal",
    ),
    regression(
        "second_trip_silent",
        "a latch not reset",
        BREAKER,
        "        self._log.error(\n            TRIP_EVENT,\n",
        "        (self._log.error if self._trips == 1 else max)(\n            TRIP_EVENT,\n",
        "only the first trip is logged",
    ),
    regression(
        "second_trip_unreported",
        "a latch not reset",
        BREAKER,
        "        self._report(Tripped(label, pair.document, now))\n",
        "        if self._trips == 1:\n            self._report(Tripped(label, pair.document, now))\n",
        "only the first trip is reported",
    ),
    regression(
        "all_pairs_cleared",
        "a whole set cleared",
        BREAKER,
        "        while (due := self._next_due()) is not None and due[0] < now:\n            _, pair, reason = due\n",
        "        if (due := self._next_due()) is not None and due[0] < now:\n            _, _, reason = due\n"
        "        for pair in tuple(self._table) if due is not None and due[0] < now else ():\n"
        "            assert due is not None\n            reason = due[2]\n",
        "when one pair is due all are cleared",
    ),
    regression(
        "one_clear_a_call",
        "one of several due",
        BREAKER,
        "        while (due := self._next_due()) is not None and due[0] < now:\n",
        "        if (due := self._next_due()) is not None and due[0] < now:\n",
        "housekeeping clears one pair and leaves others that are due",
    ),
    regression(
        "no_wake_for_settling",
        "no wake",
        BREAKER,
        "        return due[0] + 1 if due is not None else None\n",
        "        return due[0] + 1 if due is not None and due[2] is ClearReason.QUIET else None\n",
        "nobody is told when a settling period ends",
    ),
    regression(
        "no_wake_at_all",
        "no wake",
        BREAKER,
        "        return due[0] + 1 if due is not None else None\n",
        "        return None\n",
        "nobody is told when a quiet stretch ends",
    ),
    regression(
        "lift_not_told",
        "a wake not told",
        BREAKER,
        "            return Gate(None, Move.LIFTED)\n",
        "            return Gate(None, Move.KEPT)\n",
        "the scheduler is not told that a gate was lifted",
    ),
    regression(
        "earlier_not_told",
        "a wake not told",
        BREAKER,
        "Move.LATER if later else Move.EARLIER",
        "Move.LATER",
        "the scheduler is not told that a gate has moved forward",
    ),
    regression(
        "renewed_heap_grows",
        "growth without bound",
        PAIRS,
        "        if len(self._heap) > 2 * len(self._at) + 16:\n",
        "        if False:\n",
        "renewals of a pair pile up in memory",
        "the outdated entries are skipped when they come up, so only memory differs; a unit test counts the entries",
    ),
    regression(
        "actions_never_dropped",
        "growth without bound",
        BREAKER,
        "            del self._actions[key]\n",
        "            pass\n",
        "an action whose pairs have gone stays known",
        "an action without pairs and deadlines is answered like an unknown one, so only memory differs",
    ),
)
