"""The client's copy of a space: confirmed records, overlaid by the layers of commits that are not settled.

Visible = confirmed, then this session's pending layers in order. A foreign value that arrives under a pending
write changes nothing visible. A layer goes only when a window covers its verdict: accepted, it becomes part
of the confirmed value, and what is visible stays; refused, it is dropped in the same step that brings what
refused it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from quiesce.address import Address, Entity, Identity, Path, Scope
from quiesce.address import entity as resolve
from quiesce.commits import Commit, CommitClass, Document, Outcome, PendingRead, Read, Seq, Verdict
from quiesce.overlap import overlaps
from quiesce.protocol import Have, Window
from quiesce.storage.notification import Change, Notification, NotificationKind
from quiesce.storage.transaction import CommitHandle, Overlay, Result, Settled, Transaction, operation
from quiesce.values import ABSENT, Maybe, diff


@dataclass(eq=False, slots=True)
class Layer:
    """One unsettled commit: what it does, which layers it read, and the message that carries it."""

    commit: Commit
    handle: CommitHandle
    overlays: dict[Document, Overlay]
    rests_on: frozenset[int]
    verdict: Verdict | None = None
    doomed: bool = False
    """A layer that it read was refused: this one can only be refused too, and is not sent any more."""

    @property
    def local_seq(self) -> int:
        """Its place among the session's commits."""
        return self.commit.local_seq


@dataclass(eq=False, slots=True)
class _Record:
    seq: Seq = 0
    confirmed: Maybe = ABSENT
    layers: list[Layer] = field(default_factory=list[Layer])
    visible: Maybe = ABSENT
    derived_by: str = ""
    """The holder of the derived commit that wrote the confirmed value; empty for all other commits."""


class Replica:
    """One session's view of one space. ``send`` takes each new layer to the server, in order."""

    def __init__(self, space: str, send: Callable[[Layer], None]) -> None:
        self.space = space
        self.synced: Seq = 0
        """The space's sequence that the view is current to. Never goes back."""
        self.holder = ""
        """What the server calls this session in what it derives for others; empty if it serves nobody."""
        self._identity: Identity | None = None
        self._session = ""
        self._send = send
        self._entities: dict[Document, Entity] = {}
        self._records: dict[Document, _Record] = {}
        self._layers: dict[int, Layer] = {}
        self._last_local_seq = 0
        self._open: weakref.WeakSet[Transaction] = weakref.WeakSet()
        self._listeners: list[Callable[[Notification], None]] = []

    # -- for those who use it

    @property
    def identity(self) -> Identity:
        """Who this session is. Raises ``RuntimeError`` before the first welcome."""
        if self._identity is None:
            raise RuntimeError("the session has not been welcomed yet: wait for the connection before using it")
        return self._identity

    def entity(self, document: Document) -> Entity:
        """A document's complete identity, with the scope instance that this session sees."""
        known = self._entities.get(document)
        if known is None:
            known = self._entities[document] = resolve(self.space, document.scope, document.id, self.identity)
        return known

    def begin(self, source_action: object | None = None, commit_class: CommitClass = CommitClass.EVENT) -> Transaction:
        """A transaction over the present view. Raises ``RuntimeError`` before the first welcome."""
        _ = self.identity
        transaction = self.make_transaction(source_action)
        transaction.commit_class = commit_class
        self._open.add(transaction)
        return transaction

    def make_transaction(self, source_action: object | None) -> Transaction:
        """For ``begin``: another kind of replica makes another kind of transaction."""
        return Transaction(self, source_action)

    def visible(self, document: Document) -> Maybe:
        """The document as this session sees it now. No read is recorded."""
        record = self._records.get(document)
        return ABSENT if record is None else record.visible

    def confirmed(self, document: Document) -> tuple[Seq, Maybe]:
        """The server's state of the document as far as it is known here: sequence (0: none) and value."""
        record = self._records.get(document)
        return (0, ABSENT) if record is None else (record.seq, record.confirmed)

    def pending_on(self, document: Document) -> tuple[int, ...]:
        """The local sequences of unsettled commits that write the document, accepted ones not yet covered
        included.
        """
        record = self._records.get(document)
        return () if record is None else tuple(layer.local_seq for layer in record.layers)

    def subscribe(self, listener: Callable[[Notification], None]) -> Callable[[], None]:
        """Hear of every visible change, after it is complete. Returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # -- for the transaction

    def forget(self, transaction: Transaction) -> None:
        """The transaction has ended."""
        self._open.discard(transaction)

    def kick_off(self, transaction: Transaction) -> CommitHandle:
        """Validate, apply optimistically, tell, and send."""
        handle = CommitHandle(transaction)
        overlays = transaction.overlays()
        if not overlays:
            handle.settle(Result(Settled.COMMITTED))
            return handle
        changed = transaction.still_true()
        if changed is not None:
            message = f"{changed} was changed here after this transaction had read it: run it again"
            handle.settle(Result(Settled.STALE, code="inconsistent", message=message))
            return handle
        confirmed, pending, rests_on = self._claims(transaction)
        dead = [local for local in rests_on if self._refused(self._layers[local])]
        if dead:
            # It would be refused, and is not even sent. It may run again once the refused layer is gone.
            refused = self._layers[dead[0]].handle
            refused.on_settled(
                lambda _: handle.settle(
                    Result(Settled.STALE, code="dependency-refused", message="it read a commit that was refused")
                )
            )
            return handle
        self._last_local_seq += 1
        commit = Commit(
            self._last_local_seq,
            confirmed,
            pending,
            tuple(operation(document, overlay) for document, overlay in overlays.items()),
            transaction.preconditions,
            transaction.commit_class,
            transaction.certificate,
        )
        handle.local_seq = commit.local_seq
        layer = Layer(commit, handle, overlays, rests_on)
        before = self._about_to_change(overlays)
        self._layers[layer.local_seq] = layer
        for document in overlays:
            self._records.setdefault(document, _Record()).layers.append(layer)
        self._refresh(overlays)
        self._tell(NotificationKind.COMMIT, before, transaction)
        self._send(layer)
        return handle

    def _refused(self, layer: Layer) -> bool:
        return layer.doomed or (layer.verdict is not None and layer.verdict.outcome is not Outcome.ACCEPTED)

    def _claims(self, transaction: Transaction) -> tuple[tuple[Read, ...], tuple[PendingRead, ...], frozenset[int]]:
        confirmed: list[Read] = []
        pending: list[PendingRead] = []
        rests_on: set[int] = set()
        for document, path, shallow in transaction.reads():
            record = self._records.get(document)
            if record is None:
                confirmed.append(Read(document.id, document.scope, path, 0, shallow))
                continue
            layers = tuple(
                layer.local_seq for layer in record.layers if _under(layer.overlays[document], path, shallow=shallow)
            )
            if layers:
                rests_on.update(layers)
                pending.append(PendingRead(document.id, layers, document.scope, path, record.seq, shallow))
            else:
                confirmed.append(Read(document.id, document.scope, path, record.seq, shallow))
        return tuple(confirmed), tuple(pending), frozenset(rests_on)

    # -- for the client

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Unsettled commits in order."""
        return tuple(self._layers.values())

    def welcome(self, identity: Identity, decided: int, session: str = "") -> None:
        """The session's identity is known. Another one than before starts a new count of commits.

        ``session``: the session's own id, where the identity is that of another for whom it acts.
        """
        session = session or identity.session
        if self._identity == identity and self._session == session:
            return
        if self._layers:
            self.lose()  # made for a session that is no more
        before, self._identity, self._session = self._identity, identity, session
        self._entities.clear()
        self._last_local_seq = decided
        if before is not None:
            if before != identity:  # the session's own documents were another instance's
                for document in [known for known in self._records if known.scope is Scope.SESSION]:
                    del self._records[document]
            self._publish(Notification(NotificationKind.RESET, self.space, ()))

    def have(self) -> tuple[Have, ...]:
        """The confirmed sequence of every document that is known here.

        Documents that only unsettled commits know are named too, as of 0: one that was accepted and has been deleted
        since would be missed otherwise, and live on here.
        """
        return tuple(Have(document.id, record.seq, document.scope) for document, record in self._records.items())

    def judge(self, verdict: Verdict) -> None:
        """A verdict arrived. Nothing visible changes until a window covers it."""
        layer = self._layers.get(verdict.local_seq)
        if layer is None or layer.verdict is not None:
            return
        layer.verdict = layer.handle.verdict = verdict
        if verdict.outcome is not Outcome.ACCEPTED:
            self._doom(layer)

    def _doom(self, layer: Layer) -> None:
        for other in self._layers.values():
            if layer.local_seq in other.rests_on and not other.doomed:
                other.doomed = True
                self._doom(other)

    def apply(self, window: Window) -> None:
        """Take a window: settle what it covers, bring what it carries, tell what became visible, in one
        step.
        """
        covered = [layer for layer in self._layers.values() if layer.local_seq <= window.caught_up]
        accepted = [layer for layer in covered if layer.verdict is not None and not self._refused(layer)]
        dropped = [layer for layer in covered if self._refused(layer)]
        # Doomed layers go with the one they rest on, whether or not they have been decided themselves.
        gone = {layer.local_seq for layer in dropped}
        for layer in self._layers.values():
            if layer.doomed and layer.local_seq not in gone and gone & layer.rests_on:
                gone.add(layer.local_seq)
                dropped.append(layer)
        documents: dict[Document, None] = {}
        for layer in (*accepted, *dropped):
            documents.update(dict.fromkeys(layer.overlays))
        documents.update(dict.fromkeys(Document(upsert.id, upsert.scope) for upsert in window.upserts))
        documents.update(dict.fromkeys(window.removes))
        before = self._about_to_change(documents)
        for layer in accepted:
            self._promote(layer)
        for layer in (*accepted, *dropped):
            self._take_away(layer)
        for upsert in window.upserts:
            record = self._records.setdefault(Document(upsert.id, upsert.scope), _Record())
            if upsert.seq >= record.seq:
                record.seq = upsert.seq
                record.confirmed = ABSENT if upsert.deleted else upsert.value
                record.derived_by = upsert.holder if upsert.commit_class is CommitClass.DERIVED else ""
        for document in window.removes:
            record = self._records.get(document)
            if record is not None:
                record.seq, record.confirmed, record.derived_by = 0, ABSENT, ""
        self.synced = max(self.synced, window.to_seq)
        self._refresh(documents)
        kind = NotificationKind.INTEGRATE if window.answer is None else NotificationKind.PULL
        self._end_step(kind, before, accepted, dropped)

    def lose(self) -> None:
        """The session is gone: the fate of every unsettled commit is unknown, and its writes are taken
        back.
        """
        dropped = list(self._layers.values())
        documents = {document: None for layer in dropped for document in layer.overlays}
        before = self._about_to_change(documents)
        for layer in dropped:
            self._take_away(layer)
        self._refresh(documents)
        self._end_step(NotificationKind.INTEGRATE, before, [], dropped)

    # -- inside

    def _promote(self, layer: Layer) -> None:
        assert layer.verdict is not None
        for document, overlay in layer.overlays.items():
            record = self._records[document]
            if record.seq < layer.verdict.seq:
                record.confirmed = overlay.over(record.confirmed)
                record.seq = layer.verdict.seq
                record.derived_by = self.holder if layer.commit.commit_class is CommitClass.DERIVED else ""

    def _take_away(self, layer: Layer) -> None:
        del self._layers[layer.local_seq]
        for document in layer.overlays:
            self._records[document].layers.remove(layer)

    def _about_to_change(self, documents: Iterable[Document]) -> dict[Document, Maybe]:
        before = {document: self.visible(document) for document in documents}
        for transaction in self._open:
            for document, value in before.items():
                transaction.keep(document, value)
        return before

    def _refresh(self, documents: Iterable[Document]) -> None:
        for document in documents:
            record = self._records.get(document)
            if record is None:
                continue
            value = record.confirmed
            for layer in record.layers:
                value = layer.overlays[document].over(value)
            record.visible = value
            if record.seq == 0 and not record.layers:
                del self._records[document]

    def _end_step(
        self,
        kind: NotificationKind,
        before: dict[Document, Maybe],
        accepted: list[Layer],
        dropped: list[Layer],
    ) -> None:
        # A document goes to the first refused commit that wrote it; the state is complete before anyone is
        # told.
        for layer in dropped:
            own = {document: before.pop(document) for document in layer.overlays if document in before}
            self._tell(NotificationKind.REVERT, own, layer.handle.transaction)
        self._tell(kind, before, None)
        for layer in sorted((*accepted, *dropped), key=lambda layer: layer.local_seq):
            layer.handle.settle(_result(layer))

    def _tell(self, kind: NotificationKind, before: dict[Document, Maybe], source: Transaction | None) -> None:
        changes: list[Change] = []
        for document, was in before.items():
            now = self.visible(document)
            if was is now:
                continue
            entity, derived_by = self.entity(document), ""
            if source is None and document in self._records:
                derived_by = self._records[document].derived_by
            changes.extend(Change(Address(entity, path), was, now, derived_by) for path in diff(was, now))
        if changes:
            self._publish(Notification(kind, self.space, tuple(changes), source))

    def _publish(self, notification: Notification) -> None:
        for listener in tuple(self._listeners):
            listener(notification)


_SETTLED = {
    Outcome.ACCEPTED: Settled.COMMITTED,
    Outcome.CONFLICT: Settled.STALE,
    Outcome.PERMANENT: Settled.PERMANENT,
    Outcome.TERMINAL: Settled.TERMINAL,
}


def _under(overlay: Overlay, path: Path, *, shallow: bool) -> bool:
    """Whether a pending commit may be part of what a read saw.

    What an edit does to its container depends on the base, and the base may have changed since the commit was made: a
    value put where a key was may now be what brings the key.
    """
    if overlaps(overlay.touched, path, shallow=shallow):
        return True
    return shallow and any(changed[:-1] == path for changed in overlay.touched.paths if changed)


def _result(layer: Layer) -> Result:
    verdict = layer.verdict
    if verdict is None:
        if layer.doomed:
            return Result(Settled.STALE, code="dependency-refused", message="it read a commit that was refused")
        return Result(Settled.LOST, code="session-lost", message="the session ended before this commit was decided")
    seq = verdict.seq if verdict.outcome is Outcome.ACCEPTED else None
    return Result(_SETTLED[verdict.outcome], seq, verdict.code, verdict.message)
