"""A whole server from a directory and an address: databases, keys, limits, and uvicorn around the
application.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path as FilePath
from urllib.parse import quote

import uvicorn
from opentelemetry import metrics
from starlette.applications import Starlette

from quiesce.clock import monotonic_ms, wall_ms
from quiesce.counts import Counts
from quiesce.server.access import (
    Authenticator,
    DevelopmentAuthenticator,
    Grant,
    TokenAuthenticator,
    load_keys,
    make_token,
)
from quiesce.server.app import LOOPBACK_NAMES, application
from quiesce.server.engine import Engine
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.metrics import register
from quiesce.server.sqlite import SqliteEngine, SqliteOptions
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally

SERVING_TOKEN_MS = 3600_000.0
"""How long a runtime in the server's process may serve with one token; it makes another at each connect."""

KEY_FILE = "keys"
"""The signing keys' file inside the database directory, unless another is named."""


@dataclass(frozen=True)
class Settings:
    """How a server is run. ``directory`` holds one database a space; ``development`` believes every
    client.
    """

    directory: FilePath
    host: str = "127.0.0.1"
    port: int = 7447
    development: bool = False
    key_file: FilePath | None = None
    sqlite: SqliteOptions = field(default_factory=SqliteOptions)
    limits: Limits = field(default_factory=Limits)
    threads: int = 4


class Misconfigured(ValueError):
    """Settings that cannot be served. The message says what to change."""


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def database_path(directory: FilePath, space: str) -> FilePath:
    """The file of a space: its name percent-encoded, so that every name is one plain file name."""
    return directory / f"{quote(space, safe='').replace('.', '%2E')}.sqlite"


def ensure_keys(path: FilePath) -> bool:
    """Make a key file, readable by its owner only, if there is none. Whether one was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32) + "\n")
    return True


def make_hub(settings: Settings, authenticator: Authenticator, counts: Counts) -> Hub:
    """The hub of a server with real clocks, real randomness and SQLite."""
    surroundings = Surroundings(settings.limits, monotonic_ms, wall_ms, secrets.token_urlsafe, counts, Tally())

    def open_engine(space: str) -> Engine:
        return SqliteEngine(database_path(settings.directory, space), settings.sqlite)

    return Hub(surroundings, authenticator, open_engine)


def authenticator_for(settings: Settings) -> Authenticator:
    """Tokens, or in development mode anybody on this machine. Raises ``Misconfigured``."""
    if settings.development:
        if not is_loopback(settings.host):
            raise Misconfigured(
                "development mode believes every client and so listens on loopback only, not on "
                f"{settings.host}: "
                "leave out --host, or leave out --dev and make tokens with `quiesce token`"
            )
        return DevelopmentAuthenticator()
    path = settings.key_file or settings.directory / KEY_FILE
    ensure_keys(path)
    try:
        return TokenAuthenticator(load_keys(path), wall_ms)
    except (ValueError, OSError) as error:
        raise Misconfigured(str(error)) from None


def serving_token(settings: Settings) -> Callable[[str], str]:
    """What makes a token with which a runtime in this process serves a space. Raises ``Misconfigured``."""
    if settings.development:
        return lambda space: "serving"
    path = settings.key_file or settings.directory / KEY_FILE
    try:
        key = load_keys(path)[0]
    except (ValueError, OSError) as error:
        raise Misconfigured(str(error)) from None
    grant = Grant(serve=True)
    return lambda space: make_token(key, "serving", {space: grant}, now_ms=wall_ms(), lifetime_ms=SERVING_TOKEN_MS)


def build(settings: Settings, counts: Counts) -> tuple[Starlette, Hub]:
    """The application and its hub. Raises ``Misconfigured``."""
    try:
        settings.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misconfigured(f"cannot use {settings.directory} for databases: {error}") from None
    authenticator = authenticator_for(settings)
    hub = make_hub(settings, authenticator, counts)
    register(hub, metrics.get_meter("quiesce"))
    app = application(hub, authenticator, threads=settings.threads, loopback_only=settings.development)
    return app, hub


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ``OSError``.

    The protocol is named, and Nagle's algorithm off, because asyncio turns it off only on sockets that say
    that they are TCP; without this every small reply would wait for a delayed acknowledgement of 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def uvicorn_config(app: Starlette, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs it: no compression (documents are small and many), pings that find half-open
    connections.
    """
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws_max_size=settings.limits.message_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        timeout_graceful_shutdown=5,
    )
