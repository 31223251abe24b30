"""Who may do what: what a signed token grants, and what that means in one space.

A token is a JWT, signed with the server's key (HS256). ``sub`` is the principal; ``spaces`` maps a space's
name, or
``*``, to the scopes that may be read and written there; ``observe`` opens the statistics. Scopes ``user`` and
``session`` are always the principal's own: no grant reaches another's instance, except that ``serve`` lets a runtime
that holds the space's lease act for sessions while they demand derivations (``quiesce.server.serving``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final, Protocol

import jwt

from quiesce.address import Identity, Scope
from quiesce.clock import Clock

_jwt: Any = jwt  # typed loosely by the library
ALGORITHM: Final = "HS256"
AUDIENCE: Final = "quiesce"
MIN_KEY_BYTES: Final = 32
ALL_SCOPES: Final = frozenset(Scope)


class AccessDenied(Exception):
    """A token that is not accepted, or a right that it does not grant. ``code`` is a problem code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Grant:
    """The scopes that may be read and written in a space, and whether derivations may be served there."""

    read: frozenset[Scope] = ALL_SCOPES
    write: frozenset[Scope] = ALL_SCOPES
    serve: bool = False
    """May hold the space's lease, and act for whoever demands derivations there."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says. ``expires_ms`` is wall time; None never expires (development mode only)."""

    principal: str
    spaces: Mapping[str, Grant]
    observe: bool = False
    expires_ms: float | None = None

    def grant(self, space: str) -> Grant:
        """The rights in ``space``. Raises ``AccessDenied`` if there are none; the text does not tell whether
        the space exists."""
        found = self.spaces.get(space) or self.spaces.get("*")
        if found is None:
            raise AccessDenied(
                "forbidden",
                "this token grants nothing in that space: ask for one made with --space and its name",
            )
        return found


class Authenticator(Protocol):
    """Turns what a client presents into claims."""

    def claims(self, token: str) -> Claims:
        """What the token says. Raises ``AccessDenied``."""
        ...


@dataclass(frozen=True)
class TokenAuthenticator:
    """Accepts tokens signed with one of ``keys``; the first signs new ones, the rest are being retired."""

    keys: Sequence[bytes]
    wall: Clock

    def claims(self, token: str) -> Claims:
        """What the token says. Raises ``AccessDenied`` with code ``unauthenticated`` or ``token-expired``."""
        for key in self.keys:
            try:
                payload: dict[str, Any] = _jwt.decode(
                    token,
                    key,
                    algorithms=[ALGORITHM],
                    audience=AUDIENCE,
                    # the expiry is checked below, against the clock that was given
                    options={"require": ["exp", "sub", "aud"], "verify_exp": False, "verify_iat": False},
                )
            except jwt.InvalidSignatureError:
                continue
            except jwt.PyJWTError as error:
                raise AccessDenied("unauthenticated", f"the token is not valid: {error}") from None
            except (ValueError, TypeError, RecursionError):
                break
            return self._claims(payload)
        raise AccessDenied(
            "unauthenticated",
            "the token was not signed with this server's key: make one with `quiesce token` on the server's machine",
        )

    def _claims(self, payload: Mapping[str, Any]) -> Claims:
        try:
            expires = float(payload["exp"]) * 1000
            claims = Claims(
                principal=_principal(payload["sub"]),
                spaces={
                    str(name): Grant(
                        frozenset(Scope(scope) for scope in rights.get("read", ())),
                        frozenset(Scope(scope) for scope in rights.get("write", ())),
                        rights.get("serve") is True,
                    )
                    for name, rights in payload.get("spaces", {}).items()
                },
                observe=payload.get("observe") is True,
                expires_ms=expires,
            )
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
            raise AccessDenied(
                "unauthenticated", "the token's claims have another form than `quiesce token` gives them"
            ) from None
        if not expires > self.wall():
            raise AccessDenied("token-expired", "the token has expired: make a new one with `quiesce token`")
        return claims


def _principal(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise ValueError("the principal is a string of 1 to 200 characters")
    return value


@dataclass(frozen=True)
class DevelopmentAuthenticator:
    """Believes every client: the token is the principal's name. Only for a server that listens on
    loopback.
    """

    def claims(self, token: str) -> Claims:
        """All rights everywhere, as the principal that the client names."""
        try:
            principal = _principal(token or "anonymous")
        except ValueError as error:
            raise AccessDenied("unauthenticated", str(error)) from None
        return Claims(principal, {"*": Grant(serve=True)}, observe=True)


def make_token(
    key: bytes,
    principal: str,
    spaces: Mapping[str, Grant],
    *,
    now_ms: float,
    lifetime_ms: float,
    observe: bool = False,
) -> str:
    """A signed token. Raises ``ValueError`` for an empty principal or a lifetime that is not positive."""
    if lifetime_ms <= 0:
        raise ValueError(f"a token must live for more than 0 ms, not {lifetime_ms}")
    payload: dict[str, Any] = {
        "sub": _principal(principal),
        "aud": AUDIENCE,
        "iat": int(now_ms / 1000),
        "exp": (now_ms + lifetime_ms) / 1000,
        "spaces": {name: _rights(grant) for name, grant in spaces.items()},
    }
    if observe:
        payload["observe"] = True
    return _jwt.encode(payload, key, algorithm=ALGORITHM)


def _rights(grant: Grant) -> dict[str, Any]:
    rights: dict[str, Any] = {"read": sorted(grant.read), "write": sorted(grant.write)}
    if grant.serve:
        rights["serve"] = True
    return rights


def load_keys(path: FilePath) -> list[bytes]:
    """The signing keys in a file, one hexadecimal key a line, newest first. Raises ``ValueError`` saying
    what is wrong.
    """
    keys: list[bytes] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            key = bytes.fromhex(text)
        except ValueError:
            raise ValueError(f"{path}:{number}: not a hexadecimal key") from None
        if len(key) < MIN_KEY_BYTES:
            raise ValueError(f"{path}:{number}: a key of {len(key)} bytes is too short: use {MIN_KEY_BYTES} or more")
        keys.append(key)
    if not keys:
        raise ValueError(f"{path}: no key in this file: put one hexadecimal key on a line, or delete the file")
    return keys


@dataclass(frozen=True, slots=True)
class Actor:
    """One session's standing in one space: who acts, and which scopes it may read and write."""

    identity: Identity
    grant: Grant = field(default_factory=Grant)
    holder: str = ""
    """Who serves, if this session runs derivations for others; named in every document that it writes."""
    acts_from: Identity | None = None
    """The session's own identity, if ``identity`` is another's for whom it acts."""

    @property
    def own(self) -> Identity:
        """The session's own identity, whomever it acts for."""
        return self.acts_from or self.identity

    @property
    def session(self) -> str:
        """The session's id."""
        return self.own.session

    def may_read(self, scope: Scope) -> bool:
        """Whether documents of this scope may be read."""
        return scope in self.grant.read

    def may_write(self, scope: Scope) -> bool:
        """Whether documents of this scope may be written."""
        return scope in self.grant.write
