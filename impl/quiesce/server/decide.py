"""What becomes of one commit: replay, preconditions, shape and rights, reads, and only then the writes.

Pure over an engine: everything is checked before the first write, so a refused commit leaves no trace but its
verdict. An accepted commit's reads were true at its sequence (INV-1): nothing that it read was touched by any
commit between the sequence that it saw and its own, except by the pending layers that the read itself names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from quiesce.address import Path, Scope
from quiesce.commits import (
    Commit,
    CommitClass,
    DeleteDocument,
    Document,
    DocumentAbsent,
    DocumentIs,
    Outcome,
    PatchDocument,
    Seq,
    SetDocument,
    Verdict,
)
from quiesce.overlap import WHOLE, Touched, apply_edits, explain, overlaps
from quiesce.server.access import Actor
from quiesce.server.certify import certify
from quiesce.server.engine import Engine, Head, Key
from quiesce.values import ABSENT, Maybe, PathError, value_hash


class ReplayDiffers(ValueError):
    """A commit's identity was used again for another payload: a fault of the client, and a protocol error."""


@dataclass(frozen=True, slots=True)
class Written:
    """One document as an accepted commit left it.

    ``base`` is the sequence that wrote it before. ``whole``: by set or delete, so that the writer knows the
    result without knowing the base. ``encoded`` is None for a deletion.
    """

    key: Key
    seq: Seq
    base: Seq
    whole: bool
    encoded: bytes | None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, what it wrote, and whether it was a stored one that answered a replay."""

    verdict: Verdict
    writes: tuple[Written, ...] = ()
    replayed: bool = False


MAX_LOCAL_SEQ = 2**53
"""Local sequences are exact in every JSON library."""


class _Refused(Exception):
    def __init__(self, outcome: Outcome, code: str, message: str, documents: Iterable[Document] = ()) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.code = code
        self.documents = tuple(documents)

    def verdict(self, local_seq: int, seq: Seq) -> Verdict:
        return Verdict(local_seq, self.outcome, seq, self.code, str(self), self.documents)


@dataclass(frozen=True, slots=True)
class _Plan:
    key: Key
    base: Seq
    value: Maybe
    touched: Touched
    whole: bool


_encode = msgspec.json.Encoder().encode


def digest_of(commit: Commit) -> bytes:
    """What makes two payloads the same: a hash of the commit in this protocol's own spelling.

    Its class and certificate are remarks and no part of it: a server that does not know them has hashed the same commit
    without.
    """
    plain = msgspec.structs.replace(commit, commit_class=CommitClass.EVENT, certificate="")
    return hashlib.blake2b(_encode(plain), digest_size=16).digest()


def decide(engine: Engine, actor: Actor, commit: Commit, *, max_document_bytes: int) -> Decision:
    """Accept or refuse ``commit`` inside the engine's open transaction, and store the verdict.

    A replay returns the stored verdict and writes nothing. Raises ``ReplayDiffers`` for another payload under
    the same identity.
    """
    digest = digest_of(commit)
    recorded = engine.recorded(actor.session, commit.local_seq)
    if recorded is not None:
        if recorded.digest != digest:
            raise ReplayDiffers(
                f"commit {commit.local_seq} of this session was decided with another payload: "
                "a local sequence names one commit for ever; count up for a new one"
            )
        return Decision(recorded.verdict, replayed=True)
    try:
        _check_identity(engine, actor, commit)
    except _Refused as refused:
        # Not recorded: what has no place in the order must not change what the order holds.
        return Decision(refused.verdict(commit.local_seq, engine.sequence))
    before = engine.sequence
    try:
        _check_rights(actor, commit)
        _check_preconditions(engine, actor, commit)
        plans = _plan(engine, actor, commit)
        _check_confirmed(engine, actor, commit)
        _check_pending(engine, actor, commit)
        decision = _write(engine, actor, commit, plans, max_document_bytes)
    except _Refused as refused:
        decision = Decision(refused.verdict(commit.local_seq, engine.sequence))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        if engine.sequence != before:
            raise  # it had begun to write: the whole batch goes
        # One commit that nothing here foresaw must not take its space down with it, again at every replay.
        message = f"this commit cannot be decided ({type(error).__name__}): it is refused for good; please report it"
        decision = Decision(Verdict(commit.local_seq, Outcome.TERMINAL, before, "undecidable", message))
    engine.record(actor.session, digest, decision.verdict)
    return decision


def _key(actor: Actor, scope: Scope, id: str) -> Key:
    return Key(actor.identity.instance(scope), id)


def _check_identity(engine: Engine, actor: Actor, commit: Commit) -> None:
    if not 1 <= commit.local_seq <= MAX_LOCAL_SEQ:
        raise _Refused(Outcome.TERMINAL, "bad-local-sequence", "a local sequence counts up from 1, to 2^53 at most")
    last = engine.last_local_seq(actor.session)
    if commit.local_seq <= last:
        raise _Refused(
            Outcome.TERMINAL,
            "replay-forgotten",
            f"commit {commit.local_seq} comes after {last} was decided, and no verdict for it is kept: "
            "send commits in the order of their local sequence",
        )


def _check_rights(actor: Actor, commit: Commit) -> None:
    for read in (*commit.reads, *commit.pending):
        if not actor.may_read(read.scope):
            raise _Refused(Outcome.TERMINAL, "forbidden", f"this session may not read scope {read.scope.value}")
    for condition in commit.preconditions:
        if isinstance(condition, DocumentAbsent | DocumentIs) and not actor.may_read(condition.scope):
            raise _Refused(Outcome.TERMINAL, "forbidden", f"this session may not read scope {condition.scope.value}")
    for operation in commit.operations:
        if not actor.may_write(operation.scope):
            raise _Refused(Outcome.TERMINAL, "forbidden", f"this session may not write scope {operation.scope.value}")


def _check_preconditions(engine: Engine, actor: Actor, commit: Commit) -> None:
    for condition in commit.preconditions:
        if isinstance(condition, DocumentAbsent):
            if engine.head(_key(actor, condition.scope, condition.id)).value is not ABSENT:
                raise _Refused(
                    Outcome.PERMANENT,
                    "document-exists",
                    f"document {condition.id!r} exists, and this commit asked that it does not",
                )
        elif isinstance(condition, DocumentIs):
            value = engine.head(_key(actor, condition.scope, condition.id)).value
            if value is ABSENT or value_hash(value) != condition.hash:
                raise _Refused(
                    Outcome.CONFLICT,
                    "value-differs",
                    f"document {condition.id!r} has another value than this commit asked for: "
                    "take the window that covers this verdict and run again",
                    [Document(condition.id, condition.scope)],
                )
        elif _accepted_at(engine, actor, condition.local_seq) is None:
            raise _Refused(
                Outcome.PERMANENT,
                "origin-not-committed",
                f"commit {condition.local_seq} of this session, on which this one rests, was not accepted",
            )


def _accepted_at(engine: Engine, actor: Actor, local_seq: int) -> Seq | None:
    recorded = engine.recorded(actor.session, local_seq)
    if recorded is None or recorded.verdict.outcome is not Outcome.ACCEPTED:
        return None
    return recorded.verdict.seq


def _check_confirmed(engine: Engine, actor: Actor, commit: Commit) -> None:
    for read in commit.reads:
        _check_past(engine, read.seq)
        later = _stale_at(engine, _key(actor, read.scope, read.id), read.path, read.seq, read.shallow, frozenset())
        if later is not None:
            raise _stale(Document(read.id, read.scope), explain(read.path, read.seq, later))


def _check_pending(engine: Engine, actor: Actor, commit: Commit) -> None:
    for read in commit.pending:
        _check_past(engine, read.basis)
        document = Document(read.id, read.scope)
        own: set[Seq] = set()
        for layer in read.layers:
            if not 1 <= layer < commit.local_seq:
                raise _Refused(
                    Outcome.TERMINAL,
                    "bad-layer",
                    f"a read names layer {layer}, which is not before the commit itself",
                )
            seq = _accepted_at(engine, actor, layer)
            if seq is None:
                raise _Refused(
                    Outcome.CONFLICT,
                    "dependency-refused",
                    f"it read what commit {layer} of this session wrote, and that was not accepted: "
                    "take the window that covers this verdict and run again",
                    [document],
                )
            own.add(seq)
        key = _key(actor, read.scope, read.id)
        later = _stale_at(engine, key, read.path, read.basis, read.shallow, frozenset(own))
        if later is not None:
            raise _stale(document, explain(read.path, read.basis, later))


def _check_past(engine: Engine, seq: Seq) -> None:
    if not 0 <= seq <= engine.sequence:
        raise _Refused(
            Outcome.TERMINAL,
            "read-not-from-here",
            f"a read claims sequence {seq}, and this space is at {engine.sequence}: "
            "it was made against another state of the space; start from a fresh session",
        )


def _stale(document: Document, why: str) -> _Refused:
    return _Refused(
        Outcome.CONFLICT,
        "stale-read",
        f"{document}: {why}; take the window that covers this verdict and run again",
        [document],
    )


def _stale_at(engine: Engine, key: Key, path: Path, seq: Seq, shallow: bool, own: frozenset[Seq]) -> Seq | None:
    """The sequence of a write later than ``seq`` that touched the read, or None while the read still
    holds.
    """
    head = engine.head(key).seq
    if head <= seq:
        return None
    writes = engine.writes_after(key, seq)
    if writes is None:
        return head  # history that old is gone: any change may have touched the read
    for later, touched in writes:
        if later not in own and overlaps(touched, path, shallow=shallow):
            return later
    return None


def _plan(engine: Engine, actor: Actor, commit: Commit) -> list[_Plan]:
    plans: dict[Key, _Plan] = {}
    for operation in commit.operations:
        key = _key(actor, operation.scope, operation.id)
        if not operation.id or len(operation.id) > 500:
            raise _Refused(Outcome.TERMINAL, "bad-id", "a document's id has 1 to 500 characters")
        if key in plans:
            raise _Refused(
                Outcome.TERMINAL,
                "written-twice",
                f"document {operation.id!r} is written by two operations: merge them",
            )
        if isinstance(operation, SetDocument):
            plans[key] = _Plan(key, engine.head(key).seq, operation.value, WHOLE, True)
        elif isinstance(operation, DeleteDocument):
            plans[key] = _Plan(key, engine.head(key).seq, ABSENT, WHOLE, True)
        else:
            plans[key] = _patch_plan(engine, actor, commit, operation, key)
    return list(plans.values())


def _patch_plan(engine: Engine, actor: Actor, commit: Commit, operation: PatchDocument, key: Key) -> _Plan:
    head = engine.head(key)
    try:
        if head.value is ABSENT:
            raise PathError("there is no such document to edit: set it first")
        value, touched = apply_edits(head.value, operation.edits)
    except PathError as error:
        # A commit that read what it edits is stale rather than impossible, and may run again.
        _check_confirmed(engine, actor, commit)
        _check_pending(engine, actor, commit)
        # Where edits land tells the document's form, so the detail is for those who may read it.
        detail = f": {error}" if actor.may_read(operation.scope) else ""
        raise _Refused(
            Outcome.PERMANENT,
            "edit-does-not-apply",
            f"an edit of document {operation.id!r} does not apply{detail}",
        ) from None
    return _Plan(key, head.seq, value, touched, False)


def _write(engine: Engine, actor: Actor, commit: Commit, plans: list[_Plan], max_document_bytes: int) -> Decision:
    if not plans:
        certified = certify(engine, commit)
        return Decision(Verdict(commit.local_seq, Outcome.ACCEPTED, engine.sequence, certified=certified))
    encodings = [None if plan.value is ABSENT else _encode(plan.value) for plan in plans]
    for plan, encoded in zip(plans, encodings, strict=True):
        if encoded is not None and len(encoded) > max_document_bytes:
            raise _Refused(
                Outcome.PERMANENT,
                "document-too-large",
                f"document {plan.key.id!r} would have {len(encoded)} bytes, and {max_document_bytes} are "
                "allowed: "
                "split it",
            )
    seq = engine.take_sequence()
    writes: list[Written] = []
    for plan, encoded in zip(plans, encodings, strict=True):
        head = Head(seq, plan.value, encoded, commit.commit_class, actor.holder)
        engine.write(plan.key, head, plan.touched)
        writes.append(Written(plan.key, seq, plan.base, plan.whole, encoded))
    certified = certify(engine, commit)
    return Decision(Verdict(commit.local_seq, Outcome.ACCEPTED, seq, certified=certified), tuple(writes))
