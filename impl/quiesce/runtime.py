"""A session: cells, derived values, effects and handlers over one space of a server, or over a local file.

async with quiesce.connect("ws://127.0.0.1:7447", space="board", token=token) as session:
    title = session.cell("title", default="")

    @session.computed
    def shout():
        return title.get().upper()

    @session.effect
    def show():
        print(shout.get())

    @session.handler
    def rename(event):
        title.set(event["to"])

    await rename({"to": "plan"})
    await session.idle()
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, overload

from quiesce.address import Address, Scope
from quiesce.cells import Cell, Derived, Readable, narrowest
from quiesce.clock import Clock, monotonic_ms
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.handles import Action, Handler, Sent
from quiesce.lists import ListActions
from quiesce.loading import hold_until_loaded, load, look
from quiesce.outside import Outside
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerEvent, BreakerStats
from quiesce.scheduler.identity import (
    ActionName,
    DurableIdentity,
    Surface,
    action_name,
    implementation_fingerprint,
    runtime_fingerprint,
)
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.reports import report_to
from quiesce.scheduler.run import Failure, Run
from quiesce.scheduler.scheduler import Outlets, Scheduler
from quiesce.serving.delegation import Delegation
from quiesce.storage.client import Client
from quiesce.storage.replica import Replica
from quiesce.values import Maybe

Function = Callable[[], Any]


class Session:
    """The actions of one session. Made by ``connect`` and ``open``.

    ``clock`` is in milliseconds. ``work`` is called when the scheduler wants a turn; ``failed`` when a program has to
    hear of something. Without asyncio, ``scheduler.step`` gives it its turns.
    """

    def __init__(
        self,
        client: Client,
        counts: Counts,
        *,
        clock: Clock = monotonic_ms,
        work: Callable[[], None] = lambda: None,
        policy: BreakerPolicy | None = None,
        checked: bool = False,
    ) -> None:
        self.client = client
        self.counts = counts
        self.failures: deque[Failure] = deque(maxlen=100)
        """The latest failures, oldest first."""
        self.on_failure: Callable[[Failure], None] = lambda failure: None
        self.on_breaker: Callable[[BreakerEvent], None] = lambda event: None
        self._current: ContextVar[Run | None] = ContextVar("quiesce-run", default=None)
        self._names: Counter[str] = Counter()
        self._log = counts.logger("session")
        self._report = report_to(client)
        self.scheduler = Scheduler(
            client.replica,
            clock,
            counts,
            Outlets(work=work, failed=self._failed, reported=self._reported, needed=self._needed),
            policy=policy,
            checked=checked,
        )
        self.derivations: dict[str, Derived] = {}
        """What is derived by functions of the program's own, by the ids of the documents."""
        self._delegation = self.make_delegation()
        self._outside = Outside(self)

    # -- cells

    @property
    def replica(self) -> Replica:
        """What this session sees of its space."""
        return self.client.replica

    @property
    def current(self) -> Run | None:
        """The run whose body is calling, if one is. A task that a body has left behind acts outside it."""
        run = self._current.get()
        return run if run is not None and not run.over else None

    def cell(self, name: str, *, default: Any = None, scope: Scope | str = Scope.SPACE) -> Cell:
        """A cell by name: the document ``name`` in a scope, shared with the space, the user, or nobody."""
        return Cell(self, Document(name, Scope(scope)), (), default)

    def write(self, change: Callable[[Run], None], *, group: object | None = None, typing: bool = False) -> Sent:
        """Write in the present action, or outside one in a commit of its own, which is repeated after conflicts."""
        run = self.current
        if run is not None:
            sent = Sent(run.node.label, lambda: self.current)
            change(run)
            run.on_fate(lambda committed: sent.finish("committed" if committed else "withdrawn"))
            return sent
        return self._outside.write(change, group, typing=typing)

    def transact(self, function: Callable[[], object], *, group: object | None = None, typing: bool = False) -> Sent:
        """Run a function whose reads and writes of cells are one commit; again after a conflict. Effects of the same
        ``group`` are not woken by it; ``typing`` as of a handler."""

        def change(run: Run) -> None:
            token = self._current.set(run)
            try:
                made = function()
            finally:
                self._current.reset(token)
            if isinstance(made, Coroutine):
                made.close()
                raise TypeError("a transaction is over when its function returns: give transact a plain function")

        return self.write(change, group=group, typing=typing)

    # -- documents that are not followed

    def look(self, document: Document) -> Maybe:
        """A document as it is seen now, by nobody in particular. Raises ``NotLoaded``, and asks for it, if it is not
        followed yet."""
        return look(self.scheduler, document)

    async def load(self, *places: Readable) -> None:
        """Wait until these cells and derived values are here; needed only outside actions, and only where ``watch``
        keeps a session from following its whole space. Raises ``LoadRefused``."""
        await load(self.scheduler, [document for place in places for document in _documents(place)])

    # -- actions

    @overload
    def computed(self, function: Function, /) -> Derived: ...
    @overload
    def computed(
        self,
        /,
        *,
        name: str | None = None,
        scope: Scope | str | None = None,
        reads: Iterable[Readable] = (),
        surface: Iterable[Readable] | None = None,
        materialize: bool = False,
        debounce_ms: float = 0.0,
        throttle_ms: float = 0.0,
    ) -> Callable[[Function], Derived]: ...
    def computed(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        scope: Scope | str | None = None,
        reads: Iterable[Readable] = (),
        surface: Iterable[Readable] | None = None,
        materialize: bool = False,
        debounce_ms: float = 0.0,
        throttle_ms: float = 0.0,
    ) -> Any:
        """Derive a value from what the function reads. It runs only while an effect needs it, directly or not.

        The value is kept in the document ``derived/<action id>``; ``name`` replaces the id. It lies in the narrowest
        scope of what was read, unless ``scope`` fixes it. ``reads`` orders it before its first run. ``surface``
        declares that it never reads anything but these places. ``materialize``: it is kept up to date though no effect
        needs it, when nothing else is left to do. The function may be asynchronous.
        """

        def register(derivation: Function) -> Derived:
            found = ActionName(name, True) if name is not None else action_name(derivation, self._describe)
            named, lasting = self._unique(found.id), self._lasting(found)
            widest = Scope(scope) if scope is not None else Scope.SPACE if lasting else Scope.SESSION
            derived = Derived(self, f"derived/{named}", scope=widest)

            def finish(run: Run, value: Any) -> None:
                derived.place(run, value, widest if scope is not None else narrowest(run, derived.id))

            node = self._register(
                Kind.COMPUTATION,
                named,
                lambda run: self.call(run, derivation, lambda value: finish(run, value)),
                reads=reads,
                writes=derived.documents,
                materializer=materialize,
                debounce_ms=debounce_ms,
                throttle_ms=throttle_ms,
            )
            hold_until_loaded(self.scheduler, node, derived.documents[0])
            prints = implementation_fingerprint(derivation), runtime_fingerprint()
            if surface is not None:
                node.surface = Surface(
                    tuple(address for place in surface for address in self._places(place)),
                    node.declared_writes,
                    *prints,
                )
                node.certificate = self.client.declare(node.surface.certificate(named))
            derived.attach(node, DurableIdentity(f"{widest.value}:{derived.id}", named, *prints, lasting))
            if self.current is None:
                self.derivations[derived.id] = derived
                self._delegation.place(derived)
            return derived

        return register if function is None else register(function)

    @overload
    def effect(self, function: Function, /) -> Action: ...
    @overload
    def effect(
        self,
        /,
        *,
        name: str | None = None,
        reads: Iterable[Readable] = (),
        writes: Iterable[Readable] = (),
        group: object | None = None,
        debounce_ms: float = 0.0,
        throttle_ms: float = 0.0,
        auto_debounce: bool = True,
    ) -> Callable[[Function], Action]: ...
    def effect(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        reads: Iterable[Readable] = (),
        writes: Iterable[Readable] = (),
        group: object | None = None,
        debounce_ms: float = 0.0,
        throttle_ms: float = 0.0,
        auto_debounce: bool = True,
    ) -> Any:
        """Run a function now, and again whenever something that it read has changed. It may write, and may be
        asynchronous.

        It is not woken by what handlers and transactions of the same ``group`` write (an editor that has typed need
        not be told). ``auto_debounce``: if its runs take 50 ms and more on average, it waits for a pause of 100 ms.
        """

        def register(body: Function) -> Action:
            named = self._unique(name or action_name(body, self._describe).id)
            node = self._register(
                Kind.EFFECT,
                named,
                lambda run: self.call(run, body, lambda value: None),
                reads=reads,
                writes=[document for place in writes for document in _documents(place)],
                group=group,
                debounce_ms=debounce_ms,
                throttle_ms=throttle_ms,
            )
            node.gates.no_auto_debounce = not auto_debounce
            return Action(self, node)

        return register if function is None else register(function)

    @overload
    def handler(self, function: Callable[[Any], Any], /) -> Handler: ...
    @overload
    def handler(
        self, /, *, name: str | None = None, group: object | None = None, typing: bool = False
    ) -> Callable[[Callable[[Any], Any]], Handler]: ...
    def handler(
        self,
        function: Callable[[Any], Any] | None = None,
        /,
        *,
        name: str | None = None,
        group: object | None = None,
        typing: bool = False,
    ) -> Any:
        """Run a function for each event that is sent to it. All that it writes is one commit, which wakes no effect of
        the same ``group``. ``typing``: its events are keystrokes, so what it writes wakes each reader twice at once and
        then ten times a second at most."""

        def register(body: Callable[[Any], Any]) -> Handler:
            named = self._unique(name or action_name(body, self._describe).id)
            node = self._register(
                Kind.HANDLER,
                named,
                lambda run: self.call(run, lambda: body(run.payload), lambda value: None),
                group=group,
            )
            node.typing = typing
            return Handler(self, node)

        return register if function is None else register(function)

    def derive_list(
        self,
        source: Readable,
        function: Callable[[Any], Any],
        key: Callable[[Any], str] | None,
        combine: Callable[[Any, Any], list[Any]],
    ) -> Derived:
        """For ``map`` and its like."""

        def collect() -> list[Any]:
            return actions.collect()

        name = action_name(function, self._describe)
        kind = combine.__qualname__.split(".")[1]
        named = self._unique(f"list/{source.lasting_name}/{kind}/{name.id}")
        if not self._lasting(name):
            named = f"{named}/{self.replica.identity.session}"  # another session's of that name may be another function
        actions = ListActions(self, named, source, function, key, combine)
        self._register(
            Kind.COMPUTATION,
            f"{named}/keep",
            lambda run: self.call(run, lambda: actions.keep(run), lambda value: None),
            writes=actions.elements.documents,
        )
        return self.computed(name=f"{named}/list")(collect)

    # -- waiting

    async def idle(self, *, durable: bool = True) -> None:
        """Wait until nothing is left to do: no run, no event, and, unless ``durable`` is False, no commit whose fate
        is open. A re-run that the remote-echo breaker puts off is not waited for. Raises ``RuntimeError`` inside an
        action, which would wait for itself."""
        if self.current is not None:
            raise RuntimeError(f"{self.current.node.label} waits for idle, and so for itself: return, and wait outside")
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def arrived() -> None:
            if not reached.done():
                reached.set_result(None)

        forget = self.scheduler.when_idle(arrived, durable=durable)
        try:
            await reached
        finally:
            forget()

    def is_idle(self, *, durable: bool = True) -> bool:
        """Whether ``idle`` would return at once."""
        return self.scheduler.is_idle(durable=durable)

    def echo_breaker_stats(self) -> BreakerStats:
        """Backoffs in force, trips, and echo steps counted (seed §3)."""
        return self.scheduler.echo_breaker_stats()

    # -- for cells and lists

    def call(self, run: Run, function: Function, finish: Callable[[Any], None]) -> Awaitable[None] | None:
        """Call a function as the body of a run, and ``finish`` with what it returns, awaited if it has to be."""
        token = self._current.set(run)
        try:
            made = function()
        finally:
            self._current.reset(token)
        if isawaitable(made) and not isinstance(made, Sent):  # a lambda that only writes returns what it wrote
            return self._later(run, made, finish)
        finish(made)
        return None

    async def _later(self, run: Run, made: Awaitable[Any], finish: Callable[[Any], None]) -> None:
        self._current.set(run)  # a task of its own, whose context nobody shares
        finish(await made)

    def address(self, document: Document) -> Address:
        """A document's root as this session sees it."""
        return Address(self.replica.entity(document))

    # -- inside

    def _register(
        self,
        kind: Kind,
        label: str,
        body: Callable[[Run], object],
        *,
        reads: Iterable[Readable] = (),
        writes: Iterable[Document] = (),
        materializer: bool = False,
        group: object | None = None,
        debounce_ms: float = 0.0,
        throttle_ms: float = 0.0,
    ) -> Node:
        run = self.current
        node = Node(
            label,
            kind,
            body,
            declared_reads=tuple(self.address(document) for place in reads for document in _documents(place)),
            declared_writes=tuple(map(self.address, writes)),
            materializer=materializer,
            group=group,
        )
        node.gates.debounce_ms, node.gates.throttle_ms = debounce_ms, throttle_ms
        self.scheduler.register(node, None if run is None else run.node)
        if run is not None:
            run.children.append(node)
        return node

    def _places(self, place: Readable) -> list[Address]:
        if isinstance(place, Cell):
            return [Address(self.replica.entity(place.document), place.path)]
        return [self.address(document) for document in _documents(place)]

    def _unique(self, id: str) -> str:
        """An id in this session, or among the children of one run: the second of one name is ``#2``."""
        run = self.current
        if run is not None:
            id = f"{run.node.label}>{id}"
            same = sum(1 for child in run.children if child.label == id or child.label.startswith(f"{id}#"))
        else:
            same = self._names[id]
            self._names[id] += 1
        return f"{id}#{same + 1}" if same else id

    def _lasting(self, name: ActionName) -> bool:
        if not name.lasting:
            self._log.warn(
                "action-without-lasting-name",
                f"what {name.id} derives is good for this session only, since {name.why}: give it a name, or let it "
                "capture cells and plain values",
            )
        return name.lasting

    def _describe(self, value: object) -> str | None:
        if isinstance(value, Readable):
            return value.lasting_name
        if isinstance(value, Handler):
            return f"handler {value.node.label}"
        return "session" if value is self else None

    def _failed(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.on_failure(failure)

    def make_delegation(self) -> Delegation:
        """What this session leaves to others."""
        return Delegation(self)

    def _needed(self, node: Node) -> None:
        self._delegation.needed()

    def _reported(self, event: BreakerEvent) -> None:
        self._report(event)
        self.on_breaker(event)


def _documents(place: Readable) -> list[Document]:
    if isinstance(place, Cell):
        return [place.document]
    if isinstance(place, Derived):
        return place.documents
    raise TypeError(f"{place!r} cannot be read: give cells and derived values")
