"""The messages between a client and a server: JSON text, one message a WebSocket frame, typed and validated.

``docs/protocol.md`` tells when each is sent. Unknown fields and unknown capabilities are ignored, so that
either side may be newer; an unknown message type is answered with an error and does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from quiesce.address import Scope
from quiesce.commits import Certificate, Commit, CommitClass, Document, Record, Seq, Verdict
from quiesce.values import MAX_DEPTH

VERSION: Final = 1
"""The protocol's version; a server refuses a hello of another."""

CAPABILITIES: Final = (
    "commitClassV1",
    "pendingReadStacks",
    "servingV1",
    "sessionReportV1",
    "surfaceCheckV1",
    "verdictCatchUpMarkers",
)
"""What this implementation can do, as named in the handshake."""


class Resume(Record, frozen=True):
    """A claim to an earlier session: its id, and the key of its last welcome. A key is good for one
    resume.
    """

    session: str
    key: str


class Acting(Record, frozen=True):
    """For which scope instance a serving session acts: the space's (nothing named), a principal's, or a session's.

    ``key`` is the lease's.
    """

    key: str
    principal: str | None = None
    session: str | None = None


class Hello(Record, frozen=True, tag_field="type", tag="hello"):
    """The first message of a connection. ``token`` is a signed token; in development mode, a principal's
    name.
    """

    space: str
    token: str
    version: int = VERSION
    resume: Resume | None = None
    capabilities: tuple[str, ...] = ()
    acting: Acting | None = None


class Watch(Record, frozen=True):
    """An interest: one document, or with ``prefix`` every document whose id starts with ``id``."""

    id: str
    scope: Scope = Scope.SPACE
    prefix: bool = False


class Have(Record, frozen=True):
    """The client's confirmed sequence of one document, from which the server catches it up."""

    id: str
    seq: Seq
    scope: Scope = Scope.SPACE


class WatchSet(Record, frozen=True, tag_field="type", tag="watch.set"):
    """Replace the watch set. Answered by a window that names ``request``."""

    request: int
    watches: tuple[Watch, ...]
    have: tuple[Have, ...] = ()


class WatchAdd(Record, frozen=True, tag_field="type", tag="watch.add"):
    """Extend the watch set. Answered by a window that names ``request``."""

    request: int
    watches: tuple[Watch, ...]
    have: tuple[Have, ...] = ()


class SessionReport(Record, frozen=True, tag_field="type", tag="session.report"):
    """A breaker's trip, or the clear of a tripped pair, told to the server that holds the space. Best
    effort.
    """

    event: Literal["trip", "clear"]
    action: str
    document: Document
    reason: Literal["", "convergence", "quiet", "retired", "evicted"] = ""
    renewals: int = 0
    held_ms: float = 0.0


class Serve(Record, frozen=True, tag_field="type", tag="serve"):
    """A serving runtime asks for the space's lease, or renews it. ``actions``: the derivations that it serves.

    ``resting``: the sequence up to which it knows the space and after which it wants to hear that it moved.
    """

    actions: tuple[str, ...]
    resting: Seq | None = None


class ServeEnd(Record, frozen=True, tag_field="type", tag="serve.end"):
    """The lease is given up, or no longer waited for."""


class DemandSet(Record, frozen=True, tag_field="type", tag="demand.set"):
    """All derivations that this session needs, by the ids of the documents that they derive."""

    actions: tuple[str, ...]


class Declare(Record, frozen=True, tag_field="type", tag="surface.declare"):
    """All that an action of this session touches: its commits may name this from now on. Never answered."""

    certificate: Certificate


class Bye(Record, frozen=True, tag_field="type", tag="bye"):
    """The session is over for good and may be forgotten."""


class Welcome(Record, frozen=True, tag_field="type", tag="welcome"):
    """The answer to a hello. ``key`` resumes this session once; ``decided`` is the highest local sequence
    decided.
    """

    session: str
    key: str
    principal: str
    seq: Seq
    decided: int = 0
    resumed: bool = False
    capabilities: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    """Derivations that a serving runtime runs now."""
    holder: str = ""
    """Only where this session acts for others: how its derived commits are marked."""


class Upsert(Record, frozen=True):
    """One document's state as of ``seq``; ``value`` means nothing when ``deleted``.

    ``commit_class`` and ``holder`` are those of the commit that wrote it: the holder is who served a derivation, as the
    server names it, and empty for everybody else's commits.
    """

    id: str
    seq: Seq
    scope: Scope = Scope.SPACE
    deleted: bool = False
    value: Any = None
    commit_class: CommitClass = CommitClass.EVENT
    holder: str = ""


class Window(Record, frozen=True, tag_field="type", tag="window"):
    """What changed for this session in ``(from_seq, to_seq]``: an atomic cut of the space at ``to_seq``.

    ``caught_up``: every verdict through this local sequence is decided and reflected here. ``answer``: the
    watch request that this answers (a pull). ``catch_up``: windows were left out because the reader was slow,
    and this one makes up for them.
    """

    from_seq: Seq
    to_seq: Seq
    upserts: tuple[Upsert, ...] = ()
    removes: tuple[Document, ...] = ()
    caught_up: int = 0
    answer: int | None = None
    catch_up: bool = False


class Lease(Record, frozen=True, tag_field="type", tag="lease"):
    """The answer to ``serve``, and the news that a lease was won or lost. An empty ``holder``: somebody else's.

    ``key`` opens sessions that act for others. It is to be renewed within ``ttl_ms``.
    """

    holder: str = ""
    key: str = ""
    ttl_ms: float = 0.0


class Demanded(Record, frozen=True, tag_field="type", tag="demanded"):
    """For the lease's holder: all that one session demands now; nothing, when it has gone."""

    principal: str
    session: str
    actions: tuple[str, ...] = ()


class Served(Record, frozen=True, tag_field="type", tag="served"):
    """The derivations that a serving runtime runs from now on, all of them; everybody else leaves them alone."""

    actions: tuple[str, ...] = ()


class Moved(Record, frozen=True, tag_field="type", tag="moved"):
    """For a holder that rests: the space has gone on."""

    seq: Seq


class Problem(Record, frozen=True, tag_field="type", tag="error"):
    """Something was wrong with a message or with the connection. A ``fatal`` one is the connection's last
    message.

    ``retry_after_ms``: reconnect after so long; absent, reconnecting unchanged will not help.
    """

    code: str
    message: str
    fatal: bool = False
    request: int | None = None
    retry_after_ms: float | None = None


ClientMessage: TypeAlias = (
    Hello | Commit | WatchSet | WatchAdd | SessionReport | Serve | ServeEnd | DemandSet | Declare | Bye
)
ServerMessage: TypeAlias = Welcome | Verdict | Window | Lease | Demanded | Served | Moved | Problem

CLOSE_CODES: Final = {
    "malformed": 4400,
    "too-large": 4413,
    "unauthenticated": 4401,
    "token-expired": 4401,
    "forbidden": 4403,
    "hello-timeout": 4408,
    "lease-ended": 4403,
    "not-demanded": 4403,
    "session-revoked": 4409,
    "session-unknown": 4410,
    "replay-differs": 4422,
    "rate-limited": 4429,
    "too-many-connections": 4429,
    "slow-reader": 4430,
    "storage-failed": 4503,
    "shutting-down": 4503,
}
"""WebSocket close codes by problem code; 4400 for any other."""


class Malformed(ValueError):
    """Bytes that are no message of this protocol. ``code`` is ``malformed`` or ``unknown-message``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Typed(msgspec.Struct):
    type: str


_encoder = msgspec.json.Encoder()
_client_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)
_server_decoder: msgspec.json.Decoder[ServerMessage] = msgspec.json.Decoder(ServerMessage)
_typed_decoder = msgspec.json.Decoder(_Typed)
_CLIENT_TYPES: Final = frozenset(
    {
        "hello",
        "commit",
        "watch.set",
        "watch.add",
        "session.report",
        "serve",
        "serve.end",
        "demand.set",
        "surface.declare",
        "bye",
    }
)
_SERVER_TYPES: Final = frozenset({"welcome", "verdict", "window", "lease", "demanded", "served", "moved", "error"})


def encode(message: ClientMessage | ServerMessage) -> bytes:
    """A message as bytes of JSON."""
    return _encoder.encode(message)


def decode_client(data: bytes | str) -> ClientMessage:
    """What a client sent. Raises ``Malformed`` with a message fit to send back."""
    try:
        return _client_decoder.decode(data)
    except RecursionError:
        raise Malformed("malformed", f"the message nests too deeply: at most {MAX_DEPTH} containers") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise _explain(data, error, _CLIENT_TYPES) from None


def decode_server(data: bytes | str) -> ServerMessage:
    """What a server sent. Raises ``Malformed``."""
    try:
        return _server_decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _explain(data, error, _SERVER_TYPES) from None


def _explain(data: bytes | str, error: Exception, known: frozenset[str]) -> Malformed:
    try:
        kind = _typed_decoder.decode(data).type
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Malformed("malformed", f"not a message of this protocol: {error}")
    if kind not in known:
        return Malformed(
            "unknown-message",
            f"unknown message type {kind[:40]!r}: this side knows {', '.join(sorted(known))}",
        )
    return Malformed("malformed", f"a {kind} message is not well formed: {error}")


def too_deep(value: object, limit: int = MAX_DEPTH) -> bool:
    """Whether a decoded value has more than ``limit`` containers inside each other, found without
    recursion.
    """
    level: list[Any] = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _members(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
