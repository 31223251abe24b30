"""Random stories of a few sessions, and what must be true when each has come to rest.

A story is a graph of derivations and effects over shared inputs, and a list of moves: changes, deliveries, single
steps of a scheduler, ends of awaited bodies, time, lost connections, registrations that come and go. Whatever
happened, at rest every live derivation's document is its function of the inputs, every effect has seen what is there,
an action that has a child for what it read has exactly that one, every event was handled once, nobody waits for idle
any more, and what was never needed never ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from scheduler_world import Pause, Peer, Sessions, present

from quiesce.commits import Document
from quiesce.scheduler.events import Event
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Ran, Run

INPUTS = 3
COUNT = Document("count")
MOVES = (
    "put",
    "up",
    "decide",
    "down",
    "step",
    "run",
    "resume",
    "time",
    "cut",
    "connect",
    "toggle",
    "idle",
    "deliver",
    "send",
)


@dataclass(frozen=True)
class Shape:
    """One derivation: it reads ``choose``, and then one of the two others. Numbers below ``INPUTS`` are inputs."""

    choose: int
    even: int
    odd: int
    shared: bool
    awaited: bool
    debounce_ms: int
    throttle_ms: int


@dataclass(frozen=True)
class Move:
    """One thing that happens. ``who`` and ``what`` are taken modulo what there is."""

    kind: str
    who: int
    what: int


@dataclass(frozen=True)
class Story:
    """The graph, what each effect shows, and the moves."""

    shapes: tuple[Shape, ...]
    shows: tuple[int, ...]
    moves: tuple[Move, ...]
    peers: int = 2

    def shared(self, number: int) -> bool:
        """Whether all peers derive the one document: if it is asked for, and they have the same to read, for else
        they disagree for ever and it is a storm."""
        if number < INPUTS:
            return True
        shape = self.shapes[number - INPUTS]
        return shape.shared and all(map(self.shared, (shape.choose, shape.even, shape.odd)))


def random_story(random: Random, moves: int = 40) -> Story:
    """A story from a source of randomness; for looking through many of them at a fixed seed."""
    shapes: list[Shape] = []
    for number in range(random.randrange(1, 6)):
        below = INPUTS + number
        shapes.append(
            Shape(
                random.randrange(below),
                random.randrange(below),
                random.randrange(below),
                random.random() < 0.5,
                random.random() < 0.3,
                random.choice((0, 0, 0, 20)),
                random.choice((0, 0, 0, 30)),
            )
        )
    shows = tuple(random.randrange(INPUTS + len(shapes)) for _ in range(random.randrange(1, 4)))
    made = tuple(Move(random.choice(MOVES), random.randrange(8), random.randrange(64)) for _ in range(moves))
    return Story(tuple(shapes), shows, made)


@dataclass
class _Cast:
    peer: Peer
    nodes: list[Node] = field(default_factory=list[Node])
    effects: list[Node] = field(default_factory=list[Node])
    shown: dict[Node, int] = field(default_factory=dict[Node, int])
    ever_live: set[Node] = field(default_factory=set[Node])
    children: list[tuple[Node, int]] = field(default_factory=list[tuple[Node, int]])
    handler: Node | None = None
    events: list[Event] = field(default_factory=list[Event])
    idle_asked: int = 0
    idle_told: int = 0


def tell(story: Story, sabotage: Callable[[Sessions], object] = lambda world: None) -> None:
    """Let a story happen, bring it to rest, and raise ``AssertionError`` if something is not as it must be."""
    world = Sessions()
    for number in range(INPUTS):
        world.peer("setup").put(f"i{number}", number)
    world.settle()
    world.peers.clear()
    casts = [_Cast(world.peer(f"p{number}")) for number in range(story.peers)]
    for cast in casts:
        _register(story, cast)
        cast.peer.on_step = lambda cast=cast: _look([cast])
    sabotage(world)
    for move in story.moves:
        _happen(world, casts, move)
    _rest(world, casts)
    _judge(story, casts)


def _name(story: Story, peer: Peer, number: int) -> Document:
    if number < INPUTS:
        return Document(f"i{number}")
    prefix = "" if story.shared(number) else f"{peer.client.replica.identity.principal}:"
    return Document(f"{prefix}x{number}")


def _number(run: Run, document: Document) -> int:
    found = run.read(document)
    return found if isinstance(found, int) else 0


def _register(story: Story, cast: _Cast) -> None:
    peer = cast.peer
    for index, shape in enumerate(story.shapes):
        out = _name(story, peer, INPUTS + index)

        def quick(run: Run, shape: Shape = shape, out: Document = out) -> None:
            chosen = shape.odd if _number(run, _name(story, peer, shape.choose)) % 2 else shape.even
            run.write(out, (), _number(run, _name(story, peer, chosen)) + 1)

        async def slow(run: Run, shape: Shape = shape, out: Document = out) -> None:
            chosen = shape.odd if _number(run, _name(story, peer, shape.choose)) % 2 else shape.even
            await Pause()
            found = _number(run, _name(story, peer, chosen))
            await Pause()
            run.write(out, (), found + 1)

        body = slow if shape.awaited else quick
        gates = {"debounce_ms": shape.debounce_ms, "throttle_ms": shape.throttle_ms}
        cast.nodes.append(peer.computation("same name", body, writes=[out], **gates))
    for position, number in enumerate(story.shows):

        def show(run: Run, number: int = number) -> None:
            cast.shown[run.node] = _number(run, _name(story, peer, number))

        async def show_later(run: Run, number: int = number) -> None:
            found = _number(run, _name(story, peer, number))
            await Pause()
            cast.shown[run.node] = found

        cast.effects.append(peer.effect("same name", show_later if position % 2 else show))

    def parent(run: Run) -> None:
        number = _number(run, _name(story, peer, 0)) % (INPUTS + len(story.shapes))

        def child(inner: Run) -> None:
            cast.shown[inner.node] = _number(inner, _name(story, peer, number))

        cast.children.append((peer.effect("same name", child, parent=run.node), number))

    cast.effects.append(peer.effect("same name", parent))

    def count(run: Run) -> None:
        run.write(COUNT, (), _number(run, COUNT) + 1)

    cast.handler = peer.handler("same name", count)


def _happen(world: Sessions, casts: list[_Cast], move: Move) -> None:
    cast = casts[move.who % len(casts)]
    peer = cast.peer
    if move.kind == "put":
        peer.put(f"i{move.what % INPUTS}", move.what)
    elif move.kind == "up":
        peer.link.up()
    elif move.kind == "decide":
        world.loop.decide()
    elif move.kind == "down":
        peer.link.down()
    elif move.kind == "deliver":
        world.loop.settle()
    elif move.kind == "step":
        _step(cast)
    elif move.kind == "run":
        while _step(cast):
            pass
    elif move.kind == "resume":
        if peer.body is not None:
            peer.resume()
    elif move.kind == "time":
        world.clock.advance(move.what)
        _fire(casts)
    elif move.kind == "cut":
        peer.link.cut()
    elif move.kind == "connect":
        peer.link.connect()
    elif move.kind == "send":
        assert cast.handler is not None, "registered"
        cast.events.append(peer.scheduler.send(cast.handler, None))
    elif move.kind == "idle":
        cast.idle_asked += 1
        peer.scheduler.when_idle(lambda: _told(cast), durable=bool(move.what % 2))
    else:
        nodes = [*cast.effects, *cast.nodes]
        node = nodes[move.what % len(nodes)]
        if node.registered:
            peer.scheduler.unregister(node)
        else:
            peer.scheduler.register(node)
    _look(casts)


def _told(cast: _Cast) -> None:
    cast.idle_told += 1


def _step(cast: _Cast) -> bool:
    peer = cast.peer
    step = peer.step()
    if isinstance(step, Ran):
        node = step.run.node
        assert node in cast.ever_live or node is cast.handler, "a node ran that was never needed"
    return step is not None


def _fire(casts: list[_Cast]) -> None:
    for cast in casts:
        at = cast.peer.scheduler.timer_at
        if at is not None and at <= cast.peer.world.clock.now:
            cast.peer.scheduler.timer_fired()


def _look(casts: list[_Cast]) -> None:
    """Who is needed, from what the effects read and nothing that the scheduler concludes."""
    for cast in casts:
        needed = [node for node in cast.peer.scheduler.nodes if node.kind is Kind.EFFECT]
        for node in needed:
            needed.extend(writer for writer in node.upstream if writer not in needed)
        cast.ever_live.update(needed)


def _rest(world: Sessions, casts: list[_Cast]) -> None:
    for cast in casts:
        cast.peer.link.connect()
    for _ in range(400):
        world.settle()
        _look(casts)
        waiting = [cast.peer for cast in casts if cast.peer.body is not None]
        for peer in waiting:
            peer.resume()
        if not waiting:
            before = world.clock.now
            timers = [at for cast in casts if (at := cast.peer.scheduler.wake_at) is not None]
            if not timers:
                break
            world.advance(max(0.0, min(timers) - before))
    else:
        raise AssertionError("the story never comes to rest")
    world.advance(200_000)


def _judge(story: Story, casts: list[_Cast]) -> None:
    for cast in casts:
        peer = cast.peer
        inputs = [peer.value(f"i{number}") for number in range(INPUTS)]
        live = {node for node in peer.scheduler.nodes if node.live}
        values = [value for value in inputs if isinstance(value, int)]
        for index, shape in enumerate(story.shapes):
            chosen = shape.odd if values[shape.choose] % 2 else shape.even
            values.append(values[chosen] + 1)
            if cast.nodes[index] in live:
                found = peer.value(_name(story, peer, INPUTS + index))
                assert found == values[-1], f"x{INPUTS + index} is {found} and should be {values[-1]}"
            else:
                # Whoever reads it would need it, so nobody relies on it; others see what it was.
                found = peer.value(_name(story, peer, INPUTS + index))
                values[-1] = found if isinstance(found, int) else 0
            if cast.nodes[index] not in cast.ever_live:
                assert cast.nodes[index].runs == 0, "it was never needed and ran"
        for effect, number in zip(cast.effects, story.shows, strict=False):
            if effect.registered:
                assert cast.shown[effect] == values[number], f"an effect saw {cast.shown[effect]}, not {values[number]}"
        children = [(child, number) for child, number in cast.children if child.registered]
        assert len(children) == cast.effects[-1].registered, f"there are {len(children)} children"
        for child, number in children:
            assert number == values[0] % (INPUTS + len(story.shapes)), "the child is of an earlier value"
            assert cast.shown[child] == values[number], f"a child saw {cast.shown[child]}, not {values[number]}"
        assert all(event.outcome == "committed" for event in cast.events), "an event was not handled"
        counted = peer.value(COUNT) if present(peer.value(COUNT)) else 0
        assert counted == sum(len(one.events) for one in casts), "an event was handled twice, or not at all"
        assert peer.scheduler.is_idle(durable=True), "it is not idle at rest"
        assert cast.idle_told == cast.idle_asked, "somebody waits for idle for ever"
        assert not peer.failures
