"""The runtime's commands: ``serve`` a store, and make a ``token`` for it."""

from __future__ import annotations

import logging
import re
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quiesce.counts import Counts
    from quiesce.server.hub import Hub
    from quiesce.server.limits import Limits
    from quiesce.server.serve import Settings
    from quiesce.serving.beside import Beside

DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration_ms(text: str) -> float:
    """``90s``, ``15m``, ``12h`` or ``30d`` in milliseconds. Raises ``click.BadParameter``."""
    match = DURATION.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise click.BadParameter(f"{text!r} is no duration: write a number and s, m, h or d, such as 12h")
    return float(match[1]) * SECONDS[match[2]] * 1000


def changed_limits(changes: tuple[str, ...]) -> Limits:
    """Limits with ``NAME=VALUE`` changes. Raises ``click.BadParameter``."""
    from dataclasses import fields, replace

    from quiesce.server.limits import Limits

    limits = Limits()
    kinds = {field.name: int if field.type == "int" else float for field in fields(Limits)}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in kinds:
            raise click.BadParameter(f"there is no limit {name!r}: there are {', '.join(kinds)}")
        try:
            limits = replace(limits, **{name: kinds[name](text)})
        except ValueError:
            raise click.BadParameter(f"the limit {name} is a number, not {text!r}") from None
    return limits


@click.command()
@click.option(
    "--db",
    "directory",
    type=click.Path(file_okay=False, path_type=FilePath),
    required=True,
    help="Directory of the databases; made if it is missing.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=7447,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--dev", is_flag=True, help="Believe every client, whoever it says it is. Listens on loopback only.")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=FilePath),
    help="Signing keys, newest first.  [default: keys, in the database directory]",
)
@click.option(
    "--synchronous",
    type=click.Choice(["FULL", "NORMAL", "OFF"]),
    default="FULL",
    show_default=True,
    help="FULL: durable before acknowledged. NORMAL and OFF lose acknowledged commits when a machine fails.",
)
@click.option(
    "--limit",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a limit of one client's use; docs/store.md lists them.",
)
@click.option(
    "--app",
    "application",
    metavar="MODULE:FUNCTION",
    help="Derive, beside the server, what this application registers, for whoever demands it.",
)
@click.option("--verbose", is_flag=True, help="Log every session and refusal, not only warnings.")
def serve(
    directory: FilePath,
    host: str,
    port: int,
    dev: bool,
    key_file: FilePath | None,
    synchronous: str,
    changes: tuple[str, ...],
    application: str | None,
    verbose: bool,
) -> None:
    """Serve the store: documents, commits and sync for any number of sessions.

    Each space is one SQLite database in the directory. Clients connect to ws://HOST:PORT/sync; people look at
    http://HOST:PORT/.
    """
    import structlog
    import uvicorn

    from quiesce.counts import Counts
    from quiesce.server.serve import Misconfigured, Settings, build, listen, uvicorn_config
    from quiesce.server.sqlite import SqliteOptions

    level = logging.INFO if verbose else logging.WARNING
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    settings = Settings(
        directory,
        host,
        port,
        dev,
        key_file,
        SqliteOptions(synchronous=synchronous),  # type: ignore[arg-type]
        changed_limits(changes),
    )
    counts = Counts(structlog.get_logger("quiesce"))
    beside: Beside | None = None
    try:
        app, hub = build(settings, counts)
        if application is not None:
            beside = make_beside(hub, settings, application, counts)
        listener = listen(host, port)
    except (Misconfigured, OSError) as error:
        message = str(error) if isinstance(error, Misconfigured) else f"cannot listen on {host}:{port}: {error}"
        raise click.ClickException(message) from None
    if dev:
        click.echo("development mode: every client is believed, whoever it says it is; only this machine can connect")
    if synchronous != "FULL":
        click.echo(f"synchronous={synchronous}: acknowledged commits may be lost when this machine fails")
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"quiesce serves {directory} on ws://{shown}:{listener.getsockname()[1]}/sync", nl=True)
    server = uvicorn.Server(uvicorn_config(app, settings))
    if beside is not None:
        here = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, shown)
        beside.start(f"ws://{here}:{listener.getsockname()[1]}/sync")
        click.echo(f"derives what {application} registers")
    try:
        server.run(sockets=[listener])  # on uvloop, where that is installed
    finally:
        if beside is not None:
            beside.stop()


def make_beside(hub: Hub, settings: Settings, name: str, counts: Counts) -> Beside:
    """A serving runtime for a server. Raises ``Misconfigured`` if the application cannot be served."""
    from quiesce.server.serve import Misconfigured, serving_token
    from quiesce.serving.app import load_app
    from quiesce.serving.beside import Beside
    from quiesce.serving.seat import Unservable
    from quiesce.serving.space import offered

    try:
        app = load_app(name)
        offered("space", app)
    except Unservable as error:
        raise Misconfigured(str(error)) from None
    return Beside(hub, app, serving_token(settings), counts)


@click.command()
@click.argument("url")
@click.option("--space", "spaces", multiple=True, required=True, help="A space to serve; may be given more than once.")
@click.option("--app", "application", required=True, metavar="MODULE:FUNCTION", help="What registers the derivations.")
@click.option("--token", envvar="QUIESCE_TOKEN", required=True, help="A token made with --serve.  [env: QUIESCE_TOKEN]")
@click.option("--verbose", is_flag=True, help="Log leases and seats, not only warnings.")
def derive(url: str, spaces: tuple[str, ...], application: str, token: str, verbose: bool) -> None:
    """Serve an application's derivations in spaces of the server at URL (ws://HOST:PORT), until interrupted.

    Sessions that demand them do not run them themselves meanwhile. Of several runtimes one serves a space, and the
    others wait until it stops or is lost.
    """
    import asyncio
    import contextlib
    import signal

    import structlog

    from quiesce.connecting import with_path
    from quiesce.counts import Counts
    from quiesce.serving.app import load_app
    from quiesce.serving.seat import Unservable
    from quiesce.serving.shell import serve_spaces

    level = logging.INFO if verbose else logging.WARNING
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    counts = Counts(structlog.get_logger("quiesce"))

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:  # told to end, it gives up its leases, and whoever waits has them at once
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await serve_spaces(with_path(url), spaces, load_app(application), lambda: token, counts, told)

    def told(space: str, serves: bool) -> None:
        click.echo(f"serves {space}" if serves else f"waits: another runtime serves {space}")

    try:
        with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
            asyncio.run(main())
    except (Unservable, ConnectionError, ValueError) as error:
        raise click.ClickException(str(error)) from None


@click.command()
@click.option(
    "--db",
    "directory",
    type=click.Path(file_okay=False, path_type=FilePath),
    help="The server's database directory, which holds its keys.",
)
@click.option(
    "--key-file", type=click.Path(dir_okay=False, path_type=FilePath), help="The keys, if they are elsewhere."
)
@click.option("--principal", required=True, help="Who the token is for.")
@click.option(
    "--space",
    "spaces",
    multiple=True,
    metavar="NAME",
    help="A space that it opens; may be given more than once. '*' is every space.",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["space", "user", "session"]),
    help="A scope that it reaches there.  [default: all three]",
)
@click.option("--read-only", is_flag=True, help="It may read and not write.")
@click.option("--serve", "serving", is_flag=True, help="It may derive values there for whoever demands them.")
@click.option("--observe", is_flag=True, help="It may see the server's statistics.")
@click.option("--expires", default="12h", show_default=True, help="How long it is good for: 90s, 15m, 12h, 30d.")
def token(
    directory: FilePath | None,
    key_file: FilePath | None,
    principal: str,
    spaces: tuple[str, ...],
    scopes: tuple[str, ...],
    read_only: bool,
    serving: bool,
    observe: bool,
    expires: str,
) -> None:
    """Print a signed token, to be handed to a client."""
    from quiesce.address import Scope
    from quiesce.clock import wall_ms
    from quiesce.server.access import ALL_SCOPES, Grant, load_keys, make_token
    from quiesce.server.serve import KEY_FILE, ensure_keys

    if key_file is None:
        if directory is None:
            raise click.UsageError("name the server's --db directory, or its --key-file")
        key_file = directory / KEY_FILE
        ensure_keys(key_file)
    if not spaces and not observe:
        raise click.UsageError("a token without --space opens nothing: name one, or '*' for all")
    reached = frozenset(Scope(scope) for scope in scopes) or ALL_SCOPES
    grant = Grant(reached, frozenset() if read_only else reached, serving)
    lifetime = duration_ms(expires)
    try:
        key = load_keys(key_file)[0]
        made = make_token(
            key,
            principal,
            dict.fromkeys(spaces, grant),
            now_ms=wall_ms(),
            lifetime_ms=lifetime,
            observe=observe,
        )
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(made)
