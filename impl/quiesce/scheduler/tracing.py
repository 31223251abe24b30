"""What a scheduler does, written to a file as it happens: one JSON object a line, for whoever holds it against a model.

``QUIESCE_TRACE=trace.ndjson`` has every scheduler of a process write there; ``%p`` in the name is the process's number.
Each line is appended by a single write, so several processes may share a file, and a crash costs the line that was
being written at most. With the variable unset a scheduler has no trace and does nothing for it. docs/logs.md says what
each field means.
"""

from __future__ import annotations

import json
import os
import secrets
import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from quiesce.address import Entity
from quiesce.scheduler.breaker_records import Action, ClearReason, PairState
from quiesce.scheduler.echo import Cause, Step
from quiesce.scheduler.node import Node
from quiesce.scheduler.run import NotYet, Run, RunAgain

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler

VARIABLE = "QUIESCE_TRACE"
FORMAT = 1

Fields = dict[str, Any]


def trace_of(scheduler: Scheduler) -> Trace | None:
    """The trace that the environment asks for, if it does. Raises ``RuntimeError`` if it cannot be written."""
    path = os.environ.get(VARIABLE)
    return Trace(path, scheduler) if path else None


class Trace:
    """The lines of one scheduler."""

    def __init__(self, path: str, scheduler: Scheduler) -> None:
        self.path = path.replace("%p", str(os.getpid()))
        self.session = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._scheduler = scheduler
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._begin_on_a_line()
        except OSError as error:
            raise RuntimeError(
                f"{VARIABLE}={path} cannot be written ({error.strerror}): name a file that can be, or unset it"
            ) from None
        self._open = True
        self._runs: dict[Run, int] = {}
        self._run = 0
        self._close = weakref.finalize(self, os.close, self._file)
        policy, convergence = scheduler.breaker.policy, scheduler.convergence
        self.write(
            "opened",
            format=FORMAT,
            process=os.getpid(),
            breaker={name: plain(getattr(policy, name)) for name in type(policy).__dataclass_fields__},
            convergence={name: getattr(convergence, name) for name in type(convergence).__dataclass_fields__},
            attempts=scheduler.reactive_budget,
        )

    def _begin_on_a_line(self) -> None:
        """What a crash has cut off in a file that is written on is a line by itself. A pipe has no end to look at."""
        with suppress(OSError):
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                os.write(self._file, b"\n")

    def write(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Append one line, of this moment or of the one ``at`` which what it tells was decided. If that fails, nothing
        is written any more; what is traced goes on."""
        if not self._open:
            return
        scheduler = self._scheduler
        line: Fields = {
            "at": scheduler.clock() if at is None else at,
            "event": event,
            "session": self.session,
            **fields,
        }
        line["wake"], line["queued"] = scheduler.wake_at, scheduler.tick_queued
        data = (json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str) + "\n").encode()
        try:
            while data:  # a file takes all of it at once, unless the disk is full
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._open = False
            scheduler.log.warn("trace-stopped", f"{self.path} takes no more lines: {error.strerror}")

    def node(self, event: str, node: Node, at: float | None = None, **fields: Any) -> None:
        """A line about a node: who it is, whether it has to run, and its gates."""
        gates = node.gates
        self.write(
            event,
            at,
            node=node.ordinal,
            label=node.label,
            **fields,
            status=node.status.value,
            live=node.live,
            pending=node.pending,
            owed=node.owed,
            gates={
                "debounce": gates.debounce_ready_at,
                "throttle": gates.throttle_ready_at,
                "backoff": gates.backoff_until,
                "step": gates.backoff_step_ms if gates.backoff_streak else 0.0,
                "holds": gates.hold_passes,
                "echo": gates.echo_backoff_until,
            },
        )

    # -- nodes

    def registered(self, node: Node, now: float) -> None:
        """It takes part from now on."""
        gates = node.gates
        self.node(
            "registered",
            node,
            now,
            kind=node.kind.value,
            runs=node.runs,
            standing=node.standing,
            provisional=node.provisional,
            elsewhere=node.elsewhere,
            debounce_ms=gates.debounce_ms,
            throttle_ms=gates.throttle_ms,
        )

    def retired(self, node: Node) -> None:
        """It does not any more."""
        self.node("retired", node)

    def changed(self, node: Node, cause: Cause | None, now: float) -> None:
        """Something that it reads has changed."""
        self.node("changed", node, now, cause=None if cause is None else cause_fields(cause))

    def liveness(self, node: Node) -> None:
        """It has come to be needed, or is not any more."""
        self.node("liveness", node)

    def gates_set(self, node: Node) -> None:
        """Its author has set another debounce or throttle."""
        self.node("gates-set", node, debounce_ms=node.gates.debounce_ms, throttle_ms=node.gates.throttle_ms)

    def held(self, node: Node, now: float, at_most_ms: float) -> None:
        """Its first run is put off until what it will read is here."""
        self.node("held", node, now, at_most_ms=at_most_ms)

    def released(self, node: Node) -> None:
        """What it was held for is here."""
        self.node("released", node)

    # -- runs

    def run_started(self, run: Run) -> None:
        """Its body is called; what it runs for is taken."""
        self._run += 1
        self._runs[run] = self._run
        self.node(
            "run-started",
            run.node,
            run=self._run,
            kind=run.node.kind.value,
            causes=[cause_fields(cause) for cause in run.causes],
            present_pass=run.node.pass_id,
        )

    def run_ended(self, run: Run, now: float | None = None) -> None:
        """Its body has returned."""
        if run.node.registration is not run.registration:
            outcome = "retired"
        elif run.error is None:
            outcome = "returned"
        else:
            again, early = isinstance(run.error, RunAgain), isinstance(run.error, NotYet)
            outcome = "again" if again else "not-yet" if early else "raised"
        gone = outcome in ("retired", "again")
        number = self._number(run, gone=gone)
        self.node("run-ended", run.node, now, run=number, outcome=outcome, runs=run.node.runs)

    def kicked_off(self, run: Run) -> None:
        """Its commit is on its way. Which triggers it overwrote, and which it read."""
        capture, log = run.capture, run.log
        if capture is None or log is None:
            self.node("kicked-off", run.node, run=self._number(run))
            return
        read = {address.entity for address in (*log.reads, *log.shallow_reads)}
        self.node(
            "kicked-off",
            run.node,
            run=self._number(run),
            triggers=[str(document) for document in capture.triggers],
            overwritten=[str(document) for document in capture.triggers if document in capture.overwritten],
            read=[str(document) for document in capture.triggers if document in read],
            writes=len(log.writes),
        )

    def not_kicked_off(self, run: Run) -> None:
        """Its commit could not be made."""
        self.node("not-kicked-off", run.node, run=self._number(run, gone=True))

    def committed(self, run: Run, steps: Iterable[Step], now: float) -> None:
        """Its commit has succeeded; the steps that the breaker was told of, and the pairs of all that triggered it as
        they are then."""
        breaker, node = self._scheduler.breaker, run.node
        triggers = run.capture.triggers if run.capture is not None else ()
        self.node(
            "committed",
            node,
            now,
            run=self._number(run, gone=True),
            steps=[{"document": str(step.document), "kind": step.kind.value} for step in steps],
            pairs=[pair_fields(document, breaker.pair(node, document)) for document in triggers],
        )

    def not_committed(self, run: Run, fate: str, code: str) -> None:
        """Its commit has failed (``stale``, ``refused``), or came to its end after its registration did
        (``outlived``)."""
        self.node("not-committed", run.node, run=self._number(run, gone=True), fate=fate, code=code)

    def _number(self, run: Run, *, gone: bool = False) -> int:
        """The number of a run in this trace; of one that is ``gone`` nothing more comes."""
        return self._runs.pop(run, 0) if gone else self._runs.get(run, 0)

    def retry(self, node: Node, now: float, *, owed: bool) -> None:
        """It is to be run again."""
        self.node("retry", node, now, after_conflict=owed)

    # -- the breaker

    def dropped(self, action: Action, document: Entity, reason: ClearReason, now: float) -> None:
        """A pair is held no more."""
        ordinal = action.ordinal if isinstance(action, Node) else None
        self.write("pair-dropped", now, node=ordinal, label=action.label, document=str(document), reason=reason.value)

    def disposed(self) -> None:
        """Nothing runs any more."""
        self.write("disposed")

    # -- passes and the wake

    def pass_began(self, number: int) -> None:
        """A pass."""
        self.write("pass-began", number=number)

    def pass_ended(self, number: int) -> None:
        """It has; ``wake`` and ``queued`` say what comes next."""
        self.write("pass-ended", number=number)

    def backed_off(self, node: Node, now: float) -> None:
        """A pass could not settle it, and puts it off."""
        self.node("backed-off", node, now)

    def converged(self, node: Node) -> None:
        """A pass ends with it clean: its backoff is forgotten."""
        self.node("converged", node)

    def wake_set(self) -> None:
        """The wake is to come earlier than it was."""
        self.write("wake-set")

    def woke(self) -> None:
        """It came."""
        self.write("woke")

    def idle(self) -> None:
        """Whoever waited for idle is told."""
        self.write("idle")


def cause_fields(cause: Cause) -> Fields:
    return {"document": str(cause.address.entity), "path": list(cause.address.path), "origin": cause.origin.value}


def pair_fields(document: Entity, pair: PairState | None) -> Fields:
    if pair is None:
        return {"document": str(document), "held": False}
    return {
        "document": str(document),
        "held": True,
        "echoes": pair.echoes,
        "window_opened": pair.window_opened,
        "last_echo": pair.last_echo,
        "tripped": pair.tripped,
        "step": pair.step_ms,
        "renewals": pair.renewals,
        "deadline": pair.deadline,
        "settles_after": pair.settles_after,
    }


def plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)
