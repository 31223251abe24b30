"""The serving arm (seed §4): one run for each demanded instance, the breaker in its place, and runtimes that die."""

from __future__ import annotations

from typing import Any

import pytest
from api_world import SessionPeer
from serving_world import Runtime, ServingWorld, everything

import quiesce
from quiesce.address import Scope
from quiesce.commits import Document
from quiesce.runtime import Session
from quiesce.scheduler.breaker import TRIP_EVENT
from quiesce.server.health import stats
from quiesce.server.serving import Serving
from quiesce.serving.instances import Instance
from quiesce.serving.seat import Unservable
from quiesce.values import ABSENT

SHOUT, PREFER, LABEL = "derived/shout", "derived/prefer", "derived/label"


def board(session: Session) -> None:
    """One derivation of the space's, one that is every user's own, and one that is every session's own."""
    title = session.cell("title", default="")
    preference = session.cell("preference", default="-", scope="user")
    mine = session.cell("mine", default="?", scope="session")

    @session.computed(name="shout")
    def shout() -> str:
        return title.get().upper()

    @session.computed(name="prefer")
    def prefer() -> str:
        return shout.get() + preference.get()

    @session.computed(name="label")
    def label() -> str:
        return prefer.get() + mine.get()


@pytest.fixture
def world() -> ServingWorld:
    return ServingWorld()


def own(peer: SessionPeer) -> str:
    return Instance(peer.client.replica.identity.principal, peer.client.replica.identity.session).key


def actions_run(peer: SessionPeer) -> set[str]:
    """What a session ran besides what it shows."""
    return {label for label in peer.ran if not label.startswith("show-")}


# -- one run for each demanded instance


def test_each_instance_runs_once_and_sessions_run_nothing_that_is_served(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann, also, bob = world.person("ann", board), world.person("ann", board), world.person("bob", board)
    shown = {peer: world.shows(peer, LABEL) for peer in (ann, also, bob)}
    world.settle()
    assert runtime.instances() == sorted(["space", "user:ann", "user:bob", own(ann), own(also), own(bob)])
    runtime.ran.clear()
    ann.session.cell("title").set("plan")
    world.settle()
    assert [made[-1] for made in shown.values()] == ["PLAN-?"] * 3
    expected = {("shout", "space"), ("prefer", "user:ann"), ("prefer", "user:bob")}
    assert dict(runtime.ran) == dict.fromkeys(expected | {("label", own(peer)) for peer in shown}, 1)
    runtime.ran.clear()
    also.session.cell("preference", scope="user").set("+")
    world.settle()
    assert [made[-1] for made in shown.values()] == ["PLAN+?", "PLAN+?", "PLAN-?"]
    assert dict(runtime.ran) == {("prefer", "user:ann"): 1, ("label", own(ann)): 1, ("label", own(also)): 1}
    runtime.ran.clear()
    bob.session.cell("mine", scope="session").set("!")
    world.settle()
    assert [made[-1] for made in shown.values()] == ["PLAN+?", "PLAN+?", "PLAN-!"]
    assert dict(runtime.ran) == {("label", own(bob)): 1}
    assert [actions_run(peer) for peer in shown] == [set(), set(), set()]
    assert all(not peer.failures for peer in shown)


def test_what_nobody_needs_does_not_run(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    world.settle()
    assert runtime.instances() == []
    effect = ann.session.effect(name="show-it")(lambda: ann.session.derivations[LABEL].get())
    world.settle()
    assert runtime.instances() == sorted(["space", "user:ann", own(ann)])
    effect.stop()
    world.settle()
    assert runtime.instances() == []
    runtime.ran.clear()
    ann.session.cell("title").set("plan")
    world.settle()
    assert not runtime.ran


def test_demand_of_a_part_runs_that_part(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, SHOUT)
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN"
    assert set(runtime.ran) == {("shout", "space")}


def test_a_session_that_has_gone_is_served_no_more(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann, bob = world.person("ann", board), world.person("bob", board)
    for peer in (ann, bob):
        world.shows(peer, LABEL)
    world.settle()
    gone = own(ann)
    ann.link.cut()
    world.peers.remove(ann)
    world.advance(world.surroundings.limits.detached_ms + 2_000)
    assert gone not in runtime.instances()
    assert own(bob) in runtime.instances()


def test_a_derivation_is_narrowed_when_it_begins_to_read_what_is_narrower(world: ServingWorld) -> None:
    def app(session: Session) -> None:
        private, mine = session.cell("private", default=False), session.cell("mine", default="?", scope="session")
        session.computed(name="label")(lambda: mine.get() if private.get() else "everybody's")

    runtime = world.serve(app)
    ann = world.person("ann", app)
    shown = world.shows(ann, LABEL)
    world.settle()
    assert (shown[-1], runtime.instances()) == ("everybody's", ["space"])
    ann.session.cell("private").set(True)
    world.settle()
    assert (shown[-1], runtime.instances()) == ("?", [own(ann)])
    assert ann.value(Document(LABEL)) == {"redirect": "session"}
    ann.session.cell("private").set(False)
    world.settle()
    assert (shown[-1], runtime.instances()) == ("everybody's", [own(ann)]), "narrowed once, narrowed for good"


def test_a_body_that_swallows_that_it_was_stopped_derives_nothing_for_the_wrong_instance(world: ServingWorld) -> None:
    def app(session: Session) -> None:
        mine = session.cell("mine", default="?", scope="session")

        @session.computed(name="label")
        def label() -> str:
            try:
                return mine.get()
            except Exception:
                return "nothing"

    world.serve(app)
    ann = world.person("ann", app)
    shown = world.shows(ann, LABEL)
    world.settle()
    assert shown == ["?"]
    assert ann.value(Document(LABEL)) == {"redirect": "session"}


def upper(word: str) -> str:
    return word.upper()


@pytest.mark.parametrize("function", [upper, str.upper], ids=["lasting name", "no lasting name"])
def test_a_derived_list_is_served_like_any_derivation(world: ServingWorld, function: Any) -> None:
    def app(session: Session) -> None:
        words = session.cell("words", default=[], scope="session")
        made = words.map(function)
        session.computed(name="label")(lambda: made.get())

    runtime = world.serve(app)
    ann = world.person("ann", app)
    shown = world.shows(ann, LABEL)
    ann.session.cell("words", scope="session").set(["a", "b"])
    world.settle()
    assert shown[-1] == ["A", "B"]
    assert actions_run(ann) == set()
    assert own(ann) in runtime.instances()


# -- its own derived commits


def test_what_it_derived_itself_is_no_echo_when_it_comes_back_without_its_transaction(world: ServingWorld) -> None:
    """The seat's session is lost while its commit is on its way: the value that it wrote arrives as anybody's would,
    and is told from others' by class and holder."""
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, SHOUT)
    world.settle()
    (seat,) = runtime.server.seats.values()
    link = runtime.links[seat.client]
    ann.session.cell("title").set("one")
    while not runtime.run():
        assert world.loop.settle() or ann.run()
    while link.up():
        world.hub.step()  # decided, and never told
    assert world.engines["board"].head(("space", SHOUT)).value == {"value": "ONE"}  # type: ignore[arg-type]
    session = next(held for held in world.hub.spaces["board"].sessions.values() if held.actor.holder)
    link.cut()
    world.hub.spaces["board"].expire(session)
    world.engines["board"].forget_session(session.id, "")
    ann.session.cell("title").set("two")
    world.settle()
    for _ in range(2):
        link.connect()  # the first is told that nobody knows the session
        world.settle()
    assert shown[-1] == "TWO"
    assert runtime.server.echo_breaker_stats().cycles_observed == 0


# -- the breaker


def own_tag(session: Session) -> None:
    """The October storm: a derivation over a per-session input, placed where every session writes it."""
    tag = session.cell("tag", default="?", scope="session")
    session.computed(name="label", scope="space")(lambda: tag.get())


def own_tag_in_its_place(session: Session) -> None:
    tag = session.cell("tag", default="?", scope="session")
    session.computed(name="label")(lambda: tag.get())


def two_tags(world: ServingWorld, app: Any) -> tuple[Runtime, SessionPeer, SessionPeer]:
    runtime = world.serve(app)
    ann, bob = world.person("ann", app), world.person("bob", app)
    for peer, tag in ((ann, "a"), (bob, "b")):
        peer.session.cell("tag", scope="session").set(tag)
        world.shows(peer, LABEL)
    return runtime, ann, bob


def test_with_the_placement_right_two_sessions_converge_and_no_cycle_is_counted(world: ServingWorld) -> None:
    runtime, ann, bob = two_tags(world, own_tag_in_its_place)
    world.settle()
    assert [peer.session.derivations[LABEL].get() for peer in (ann, bob)] == ["a", "b"]
    commits = world.commits
    world.advance(300_000)
    assert world.commits == commits
    assert runtime.server.echo_breaker_stats().cycles_observed == 0


def test_with_the_placement_wrong_each_instance_trips_and_commits_stop_while_time_is_held(world: ServingWorld) -> None:
    """A second instance of the node is a genuine foreign writer."""
    runtime, _, _ = two_tags(world, own_tag)
    world.settle()
    held = runtime.server.echo_breaker_stats()
    assert (held.active, held.trips, held.cycles_observed) == (2, 2, 24)
    assert runtime.counts.counts_breakdown()["scheduler"][TRIP_EVENT] == 2
    commits = world.commits
    world.settle()
    assert world.commits == commits


def test_reports_of_two_instances_of_one_document_stay_apart(world: ServingWorld) -> None:
    _, ann, bob = two_tags(world, own_tag)
    world.settle()
    reports = stats(world.hub)["spaces"]["board"]["sessionReports"]
    assert {(report["actsFor"], report["event"], report["instance"]) for report in reports} == {
        (own(ann), "trip", "space"),
        (own(bob), "trip", "space"),
    }


def test_a_deferred_re_run_holds_no_wave_is_not_put_away_and_is_not_lost(world: ServingWorld) -> None:
    runtime = world.serve(own_tag, rest_after_ms=50)
    for name in ("ann", "bob"):
        peer = world.person(name, own_tag)
        peer.session.cell("tag", scope="session").set(name)
        world.shows(peer, LABEL)
    world.settle()
    assert runtime.server.is_idle()
    assert runtime.server.has_armed_gate_wake()
    world.advance(499)
    assert runtime.server.resting is None, "shorter than the backoff, and yet not put away"
    before = dict(runtime.ran)
    world.advance(1)
    again = {key: count - before[key] for key, count in runtime.ran.items() if count != before[key]}
    assert len(again) in (1, 2)
    assert set(again.values()) == {1}, "each wake allows one run"


def test_a_client_that_still_writes_what_is_served_trips_the_serving_arm(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann, old = world.person("ann", board), world.session("old")
    world.shows(ann, SHOUT)
    world.settle()

    @old.session.effect(name="overwrite")
    def overwrite() -> None:
        found = old.session.replica.visible(Document(SHOUT))
        run = old.session.current
        assert run is not None
        run.read(Document(SHOUT))
        run.write(Document(SHOUT), (), {"value": "mine"})
        _ = found

    ann.session.cell("title").set("plan")
    world.settle()
    assert runtime.server.echo_breaker_stats().trips == 1
    assert old.scheduler.echo_breaker_stats().trips == 1
    assert ann.scheduler.echo_breaker_stats().trips == 0


def test_one_user_s_loop_defers_nobody_else(world: ServingWorld) -> None:
    """Each instance has a gate of its own."""
    runtime = world.serve(board)
    ann, bob = world.person("ann", board), world.person("bob", board)
    for peer in (ann, bob):
        world.shows(peer, PREFER)
    world.settle()
    old = world.session("ann")
    old.client.watch(*everything())

    @old.session.effect(name="overwrite")
    def overwrite() -> None:
        run = old.session.current
        assert run is not None
        run.write(Document(PREFER, Scope.USER), (), {"value": "mine"})

    world.settle()
    ann.session.cell("preference", scope="user").set("+")
    world.settle()
    gates = {
        instance.key: seat.session.derivations[PREFER].node.gates.echo_backoff_until
        for instance, seat in runtime.server.seats.items()
        if seat.session is not None
    }
    assert gates["user:ann"] > world.clock.now
    assert gates["user:bob"] == 0
    bob.session.cell("preference", scope="user").set("!")
    world.settle()
    assert bob.session.derivations[PREFER].get() == "!"


# -- rest


def test_a_space_in_which_nothing_moves_is_put_away_and_got_out_again(world: ServingWorld) -> None:
    runtime = world.serve(board, rest_after_ms=1_000)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    world.advance(1_001)
    assert runtime.instances() == []
    assert runtime.server.resting is not None
    assert runtime.server.holds_lease
    runtime.ran.clear()
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN-?"
    assert actions_run(ann) == set()
    world.advance(1_001)
    assert runtime.instances() == []
    bob = world.person("bob", board)
    assert world.shows(bob, LABEL) == []
    world.settle()
    assert bob.session.derivations[LABEL].get() == "PLAN-?"


def test_what_moved_while_it_was_being_put_away_is_not_lost(world: ServingWorld) -> None:
    runtime = world.serve(board, rest_after_ms=1_000)
    ann = world.person("ann", board)
    shown = world.shows(ann, SHOUT)
    world.settle()
    world.clock.advance(1_000)
    ann.session.cell("title").set("plan")
    ann.run()
    while ann.link.up():
        world.hub.step()  # decided, and on its way to a seat that is about to go
    runtime.server.timer_fired()
    runtime.run()
    assert runtime.server.resting is not None
    world.settle()
    assert shown[-1] == "PLAN"


# -- runtimes that come and go


def test_sessions_derive_for_themselves_until_somebody_serves_and_when_nobody_does(world: ServingWorld) -> None:
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    assert actions_run(ann) == {"shout", "prefer", "label"}
    runtime = world.serve(board)
    ann.ran.clear()
    ann.session.cell("title").set("plan")
    world.settle()
    assert (shown[-1], actions_run(ann)) == ("PLAN-?", set())
    runtime.close()
    world.settle()
    ann.session.cell("title").set("again")
    world.settle()
    assert (shown[-1], actions_run(ann)) == ("AGAIN-?", {"shout", "prefer", "label"})


def test_when_a_runtime_dies_its_lease_ends_and_sessions_fall_back(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    runtime.die()
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "-?", "its lease may still be renewed"
    world.clock.advance(world.surroundings.limits.lease_ms + 1)
    world.hub.tick()
    world.settle()
    assert (shown[-1], actions_run(ann)) == ("PLAN-?", {"shout", "prefer", "label"})


def test_another_runtime_takes_over_and_nobody_runs_in_between(world: ServingWorld) -> None:
    first, second = world.serve(board), world.serve(board)
    assert (first.server.holds_lease, second.server.holds_lease) == (True, False)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    assert not second.ran
    first.die()
    ann.session.cell("title").set("plan")
    world.settle()
    world.clock.advance(world.surroundings.limits.lease_ms + 1)
    world.hub.tick()
    world.settle()
    assert second.server.holds_lease
    assert shown[-1] == "PLAN-?"
    assert actions_run(ann) == set()
    assert second.server.echo_breaker_stats().cycles_observed == 0


def test_a_runtime_whose_connection_broke_goes_on_with_its_lease(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    for link in runtime.links.values():
        link.cut()
    ann.session.cell("title").set("plan")
    world.settle()
    before = runtime.instances()
    for client, link in runtime.links.items():
        if not client.ended:
            link.connect()
    world.settle()
    assert shown[-1] == "PLAN-?"
    assert runtime.instances() == before
    assert actions_run(ann) == set()


def test_a_session_that_the_server_has_forgotten_says_again_what_it_needs(world: ServingWorld) -> None:
    """Nobody tells it anything new: what is served is what was served before."""
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    space = world.hub.spaces["board"]
    (session,) = (held for held in space.sessions.values() if held not in space.serving)
    ann.link.cut()
    space.expire(session)
    world.engines["board"].forget_session(session.id, "")
    world.settle()
    assert runtime.instances() == []
    for _ in range(2):
        ann.link.connect()  # the first is told that nobody knows the session
        world.settle()
    assert own(ann) in runtime.instances()
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN-?"
    assert actions_run(ann) == set()


def test_a_runtime_that_lost_its_lease_asks_for_it_again(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    world.hub.spaces["board"].serving.release(world.hub.spaces["board"].serving.lease.session)  # type: ignore[union-attr]
    world.settle()
    assert runtime.instances() == []
    assert not runtime.server.holds_lease
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN-?"
    assert actions_run(ann) == {"shout", "prefer", "label"}


def test_a_server_that_started_anew_knows_no_lease_and_gives_another(world: ServingWorld) -> None:
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    space = world.hub.spaces["board"]
    space.serving = Serving(world.surroundings, lambda: space.sessions.values())
    links = [*runtime.links.values(), ann.link]
    for link in links:
        link.cut()
    for link in links:
        link.connect()
    world.settle()
    assert runtime.server.holds_lease
    ann.ran.clear()
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN-?"
    assert actions_run(ann) == set()
    assert own(ann) in runtime.instances()


def test_the_lease_is_renewed_as_time_goes_by(world: ServingWorld) -> None:
    runtime = world.serve(board)
    holder = stats(world.hub)["spaces"]["board"]["serving"]["holder"]
    world.advance(10 * world.surroundings.limits.lease_ms)
    assert runtime.server.holds_lease
    assert stats(world.hub)["spaces"]["board"]["serving"]["holder"] == holder


def test_a_server_that_knows_no_serving_leaves_everybody_to_themselves(
    world: ServingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quiesce.server.space.CAPABILITIES", ("sessionReportV1", "verdictCatchUpMarkers"))
    runtime = world.serve(board)
    ann = world.person("ann", board)
    shown = world.shows(ann, LABEL)
    world.settle()
    assert (shown, runtime.instances(), runtime.server.holds_lease) == (["-?"], [], False)
    assert actions_run(ann) == {"shout", "prefer", "label"}


# -- what cannot be served


def bad_effect(session: Session) -> None:
    session.effect(lambda: None)


def bad_handler(session: Session) -> None:
    session.handler(lambda event: None)


def bad_names(session: Session) -> None:
    captured: list[int] = []
    session.computed(lambda: len(captured))


def bad_body(session: Session) -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("app", "why"),
    [
        (bad_effect, "registers an effect"),
        (bad_handler, "registers a handler"),
        (bad_names, "no derivation with a lasting name"),
        (bad_body, "it raised KeyError"),
    ],
)
def test_an_application_that_cannot_be_served_is_refused_in_words(world: ServingWorld, app: Any, why: str) -> None:
    with pytest.raises(Unservable, match=why):
        world.serve(app)


def test_a_body_that_raises_is_told_and_stops_nobody_else(world: ServingWorld) -> None:
    def app(session: Session) -> None:
        board(session)
        session.computed(name="bad")(lambda: 1 // 0)

    runtime = world.serve(app)
    ann = world.person("ann", app)
    shown = world.shows(ann, SHOUT)
    ann.session.effect(name="show-bad")(lambda: ann.session.derivations["derived/bad"].get())
    ann.session.cell("title").set("plan")
    world.settle()
    assert shown[-1] == "PLAN"
    assert runtime.counts.counts_breakdown()["scheduler"]["body-failed"] == 1
    assert ann.session.replica.visible(Document("derived/bad")) is ABSENT
    with pytest.raises(quiesce.NotYet):
        ann.session.derivations["derived/bad"].get()
    assert Scope.SPACE is ann.session.derivations["derived/bad"].scope


def test_a_seat_in_which_the_application_failed_is_tried_again_when_there_is_news(world: ServingWorld) -> None:
    fails = False

    def app(session: Session) -> None:
        if fails:
            raise KeyError("x")
        board(session)

    runtime = world.serve(app)
    ann, bob = world.person("ann", app), world.person("bob", app)
    ann.session.cell("title").set("plan")
    world.settle()
    fails = True
    shown = world.shows(ann, SHOUT)
    world.settle()
    assert (runtime.instances(), shown) == ([], [])
    assert runtime.counts.counts_breakdown()["serving"]["application-failed"] == 1
    fails = False
    world.shows(bob, SHOUT)
    world.settle()
    assert (runtime.instances(), shown) == (["space"], ["PLAN"])
