"""Frames for the server to choke on, from strategies: valid ones, valid ones spoilt, and mere bytes."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from quiesce.commits import (
    Commit,
    DeleteDocument,
    Document,
    DocumentAbsent,
    DocumentIs,
    OriginCommitted,
    PatchDocument,
    PendingRead,
    Put,
    Read,
    Remove,
    SetDocument,
)
from quiesce.protocol import Bye, Have, Hello, Resume, SessionReport, Watch, WatchAdd, WatchSet, encode

IDS = st.sampled_from(["a", "b", "", "é", "x" * 600, "a/b", "%"])
SCOPES = st.sampled_from(["space", "user", "session"])
FEW = st.sampled_from([0, 0, 0, 1, 2])
NUMBERS = st.one_of(st.integers(-3, 12), st.sampled_from([-(2**70), 2**53, 2**63, 2**64, 10**30]))
PATHS = st.lists(st.sampled_from(["x", "0", "1", "-1", "", "é", "9" * 30]), max_size=3).map(tuple)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.just(10**30), st.floats(-2, 2), st.text(max_size=4)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)

READS = st.builds(Read, IDS, SCOPES, PATHS, FEW | NUMBERS, st.booleans())
LAYERS = st.lists(FEW | NUMBERS, max_size=3).map(tuple)
PENDING = st.builds(PendingRead, IDS, LAYERS, SCOPES, PATHS, FEW | NUMBERS, st.booleans())
EDITS = st.one_of(st.builds(Put, PATHS, VALUES), st.builds(Remove, PATHS))
OPERATIONS = st.one_of(
    st.builds(SetDocument, IDS, VALUES, SCOPES),
    st.builds(PatchDocument, IDS, st.lists(EDITS, max_size=3).map(tuple), SCOPES),
    st.builds(DeleteDocument, IDS, SCOPES),
)
CONDITIONS = st.one_of(
    st.builds(DocumentAbsent, IDS, SCOPES),
    st.builds(DocumentIs, IDS, st.text(max_size=5), SCOPES),
    st.builds(OriginCommitted, NUMBERS),
)


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Up to three of something, as a tuple."""
    return st.lists(of, max_size=3).map(tuple)


COMMITS = st.builds(Commit, NUMBERS, tuples(READS), tuples(PENDING), tuples(OPERATIONS), tuples(CONDITIONS))
WATCHES = tuples(st.builds(Watch, IDS, SCOPES, st.booleans()))
HAVES = tuples(st.builds(Have, IDS, NUMBERS, SCOPES))
MESSAGES = st.one_of(
    COMMITS,
    COMMITS,
    COMMITS,
    st.builds(WatchSet, NUMBERS, WATCHES, HAVES),
    st.builds(WatchAdd, NUMBERS, WATCHES, HAVES),
    st.builds(
        SessionReport,
        st.sampled_from(["trip", "clear"]),
        st.text(max_size=5),
        st.builds(Document, IDS, SCOPES),
        st.sampled_from(["", "quiet"]),
        NUMBERS,
        st.floats(0, 9),
    ),
    st.builds(Hello, IDS, IDS, NUMBERS, st.none() | st.builds(Resume, IDS, IDS)),
    st.builds(Bye),
)


def in_order(messages: list[Any]) -> list[Any]:
    """The messages with their commits counted up, as an honest client would: so that they get further."""
    return [
        msgspec.structs.replace(message, local_seq=number) if isinstance(message, Commit) else message
        for number, message in enumerate(messages, 1)
    ]


def spoilt(data: bytes, at: int, how: int) -> bytes:
    """A valid message with one fault: cut, doubled, a byte changed, or a piece from its own other end."""
    at %= max(1, len(data))
    match how % 4:
        case 0:
            return data[:at]
        case 1:
            return data + data[at:]
        case 2:
            return data[:at] + bytes([(data[at] + how) % 256]) + data[at + 1 :] if data else data
        case _:
            return data[at:] + data[:at]


FRAMES = st.one_of(
    MESSAGES.map(encode),
    MESSAGES.map(encode),
    st.builds(spoilt, MESSAGES.map(encode), st.integers(0, 400), st.integers(0, 1000)),
    st.binary(max_size=40),
)
