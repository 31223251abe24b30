"""Nodes, triggers, passes, and a run's life from its causes to its commit's fate."""

from __future__ import annotations

import pytest
from scheduler_world import D, Pause, Peer, Sessions

from quiesce.address import Address, Scope
from quiesce.commits import Document, DocumentAbsent
from quiesce.scheduler.echo import Origin
from quiesce.scheduler.node import Node, Status
from quiesce.scheduler.run import NotYet, Ran, Run, RunAgain
from quiesce.scheduler.scheduler import Outlets
from quiesce.storage.notification import Change, Notification, NotificationKind
from quiesce.values import ABSENT

IN = Document("in")


def reads(*documents: str) -> object:
    return lambda run: [run.read(Document(name)) for name in documents]


def plus_one(run: Run) -> int:
    found = run.read(IN)
    return found + 1 if isinstance(found, int) else 0


@pytest.fixture
def world() -> Sessions:
    return Sessions()


@pytest.fixture
def alice(world: Sessions) -> Peer:
    return world.peer("alice")


def causes_of(peer: Peer) -> dict[str, list[str]]:
    """Take all steps; for each run, its causes as paths with their origin."""
    found: dict[str, list[str]] = {}
    while (step := peer.step()) is not None:
        if isinstance(step, Ran):
            found[step.run.node.label] = [f"{cause.address} {cause.origin.value}" for cause in step.run.causes]
    return found


# -- demand


def test_a_derivation_that_nobody_needs_never_runs(world: Sessions, alice: Peer) -> None:
    alice.put("in", 1)
    node = alice.derive("x", plus_one)
    world.settle()
    alice.put("in", 2)
    world.settle()
    assert node.runs == 0
    assert alice.value("x") is ABSENT
    assert alice.scheduler.is_idle(durable=True)


def test_a_derivation_runs_when_an_effect_reads_it_and_sleeps_when_the_effect_is_gone(
    world: Sessions, alice: Peer
) -> None:
    alice.put("in", 1)
    alice.derive("x", plus_one)
    show = alice.effect("show", reads("x"))
    world.settle()
    assert alice.ran == ["show", "x", "show"]
    alice.scheduler.unregister(show)
    alice.put("in", 5)
    world.settle()
    assert alice.ran == ["show", "x", "show"]
    assert alice.value("x") == 2


def test_a_ring_that_only_needs_itself_is_not_needed(world: Sessions, alice: Peer) -> None:
    alice.derive("p", reads("q", "in"))
    alice.derive("q", reads("p"))
    show = alice.effect("show", reads("p"))
    world.settle()
    assert all(node.live for node in alice.scheduler.nodes)
    alice.scheduler.unregister(show)
    assert not any(node.live for node in alice.scheduler.nodes)


def test_a_derivation_that_is_no_longer_read_is_needed_no_more(world: Sessions, alice: Peer) -> None:
    alice.put("in", 1)
    alice.put("which", "x")
    x, y = alice.derive("x", plus_one), alice.derive("y", plus_one)
    alice.effect("show", lambda run: run.read(Document(str(run.read(Document("which"))))))
    world.settle()
    assert (x.live, y.live, x.runs, y.runs) == (True, False, 1, 0)
    alice.put("which", "y")
    world.settle()
    assert (x.live, y.live, y.runs) == (False, True, 1)
    alice.put("in", 2)
    world.settle()
    assert (x.runs, y.runs) == (1, 2)


def test_reads_follow_what_the_last_run_read(world: Sessions, alice: Peer) -> None:
    alice.put("which", "p")
    alice.effect("show", lambda run: run.read(Document(str(run.read(Document("which"))))))
    world.settle()
    alice.ran.clear()
    alice.put("q", 1)
    world.settle()
    assert alice.ran == []
    alice.put("which", "q")
    alice.put("p", 1)
    world.settle()
    alice.ran.clear()
    alice.put("p", 2)
    world.settle()
    assert alice.ran == []
    alice.put("q", 2)
    world.settle()
    assert alice.ran == ["show"]


# -- triggers


@pytest.mark.parametrize(
    ("before", "after", "path", "shallow", "fires"),
    [
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ("a",), False, False),
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, ("a",), False, True),
        ({"a": {"x": 1}}, {"a": {"x": 2}}, ("a",), False, True),
        ({"a": {"x": 1}}, {"a": {"x": 2}}, ("a",), True, False),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": 1}}, ("a",), True, True),
        ({"a": {"x": 1}}, {"a": {"x": 1, "y": 1}}, (), True, False),
        ({"a": 1}, {"a": 2}, ("a",), True, True),
        ({"a": [1]}, {"a": [1, 2]}, ("a", "0"), False, False),
        ({"a": [1]}, {"a": [2, 1]}, ("a", "0"), False, True),
        ({"a": [1]}, {"a": [1, 2]}, ("a",), True, True),
        ({}, {"a": {}}, ("a", "x"), False, True),
        ({"a": {"x": 1}}, {"a": 1}, ("a",), True, True),
    ],
)
def test_a_read_fires_when_what_it_sees_differs(
    world: Sessions, alice: Peer, before: object, after: object, path: tuple[str, ...], shallow: bool, fires: bool
) -> None:
    alice.put("d", before)
    alice.effect("e", lambda run: run.read_keys(D, path) if shallow else run.read(D, path))
    world.settle()
    alice.ran.clear()
    alice.put("d", after)
    world.settle()
    assert alice.ran == (["e"] if fires else [])


def test_an_equal_write_wakes_nobody(world: Sessions, alice: Peer) -> None:
    alice.put("d", {"a": 1})
    alice.effect("e", reads("d"))
    world.settle()
    alice.ran.clear()
    commits = world.commits
    alice.put("d", {"a": 1.0})
    world.settle()
    assert (alice.ran, world.commits) == ([], commits)


def test_causes_are_the_changed_paths_and_where_they_came_from(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    alice.put("d", {"a": 1, "b": 1})
    alice.effect("e", reads("d"))
    world.settle()
    bob.put("d", 2, ("a",))
    world.loop.settle()
    alice.put("d", 2, ("b",))
    assert causes_of(alice) == {"e": ["board/space/d/a remote", "board/space/d/b local"]}


def test_two_scope_instances_of_one_document_are_two_causes(world: Sessions, alice: Peer) -> None:
    session_doc = Document("d", Scope.SESSION)
    alice.effect("e", lambda run: (run.read(D), run.read(session_doc)))
    world.settle()
    alice.put(D, 1)
    alice.put(session_doc, 1)
    assert len(causes_of(alice)["e"]) == 2


# -- own commits


def test_own_commits_are_skipped_by_object_and_never_by_name(world: Sessions, alice: Peer) -> None:
    def bump(run: Run) -> None:
        found = run.read(D)
        run.write(D, (), min(3, found + 1) if isinstance(found, int) else 0)

    alice.effect("twin", bump)
    world.settle()
    assert alice.value("d") == 0, "one alone is not woken by what it wrote"
    alice.effect("twin", bump)
    world.settle()
    assert alice.value("d") == 3, "its namesake is another action and wakes it"


def test_a_handlers_commit_wakes_the_action_that_wrote_last(world: Sessions, alice: Peer) -> None:
    alice.effect("trim", lambda run: run.write(D, (), str(run.read(D)).strip()))
    typing = alice.handler("typing", lambda run: run.write(D, (), run.payload))
    world.settle()
    alice.scheduler.send(typing, " x ")
    world.settle()
    assert alice.value("d") == "x"


# -- conflicts and refusals


def conflict(world: Sessions, loser: Peer, winner: Peer, document: str, value: object) -> None:
    """The loser's present commit meets a newer one of the winner's."""
    winner.put(document, value)
    winner.link.up()
    while winner.link.up():
        pass
    world.loop.decide()


def test_a_conflict_is_run_again_with_its_causes_after_catching_up(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    alice.put("in", 1)
    world.settle()
    seen: list[object] = []
    out = Document("out")
    alice.effect("e", lambda run: (seen.append(run.read(IN)), run.write(out, (), run.read(IN))))
    world.settle()
    alice.put("in", 2)
    world.loop.settle()
    bob.put("in", 3)
    while bob.link.up():
        pass
    world.loop.decide()  # the server has 3, alice has not
    assert causes_of(alice) == {"e": ["board/space/in local"]}
    assert alice.value("out") == 2
    world.loop.settle()
    assert causes_of(alice)["e"] == ["board/space/in local", "board/space/in remote", "board/space/out own-revert"]
    world.settle()
    assert seen == [1, 2, 3]
    assert alice.value("out") == 3
    assert bob.value("out") == 3
    assert not alice.failures


def test_conflicts_never_use_up_the_reactive_budget(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    out = Document("out")
    alice.put("in", 0)
    node = alice.effect("e", lambda run: run.write(out, (), run.read(IN)))
    world.settle()
    for round_ in range(25):
        bob.put("in", round_)
        while bob.link.up():
            pass
        world.loop.decide()
        alice.put("other", round_)
        alice.scheduler.invalidation.invalidate(node, None, world.clock())
        alice.run()
        world.loop.settle()
    world.settle()
    assert alice.value("out") == 24
    assert not alice.failures
    assert node.failures == 0


def test_a_refusal_for_good_is_told_and_not_tried_again(world: Sessions, alice: Peer) -> None:
    alice.put("taken", 1)
    world.settle()

    def body(run: Run) -> None:
        run.read(IN)
        run.transaction.require(DocumentAbsent("taken"))
        run.write(D, (), 1)

    node = alice.effect("e", body)
    world.settle()
    assert node.runs == 1
    assert [failure.label for failure in alice.failures] == ["e"]
    assert alice.value("d") is ABSENT
    alice.put("in", 1)
    world.settle()
    assert node.runs == 2, "its subscription stays"


def test_a_refused_run_is_done_again_if_its_revert_lays_bare_a_newer_value(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    alice.put("taken", 1)
    world.settle()

    def body(run: Run) -> None:
        if run.read(D) != "bob's":
            run.transaction.require(DocumentAbsent("taken"))
            run.write(D, (), 1)

    node = alice.effect("e", body)
    alice.run()
    bob.put("d", "bob's")
    while bob.link.up():
        pass
    world.loop.decide()
    world.settle()
    assert node.runs == 2
    assert alice.value("d") == "bob's"


def test_asking_to_run_again_is_bounded_and_a_later_change_gets_one_try(world: Sessions, alice: Peer) -> None:
    def body(run: Run) -> None:
        run.read(IN)
        raise RunAgain("not now")

    good = alice.effect("reader", reads("in"))
    node = alice.effect("e", lambda run: run.read(IN))
    world.settle()
    node.body = body
    alice.put("in", 1)
    world.settle()
    world.advance(60_000)
    assert node.runs == 1 + 10
    assert [failure.code for failure in alice.failures] == ["retries-exhausted"]
    alice.put("in", 2)
    world.settle()
    world.advance(60_000)
    assert node.runs == 1 + 11
    assert good.runs == 3


def test_a_body_that_raises_is_told_and_what_it_wrote_is_committed(world: Sessions, alice: Peer) -> None:
    def body(run: Run) -> None:
        run.write(D, (), run.read(IN))
        raise ValueError("too late")

    alice.put("in", 1)
    alice.effect("e", body)
    world.settle()
    assert [(failure.code, str(failure.error)) for failure in alice.failures] == [("body-failed", "too late")]
    assert alice.value("d") == 1
    alice.put("in", 2)
    world.settle()
    assert alice.value("d") == 2


def test_a_body_that_finds_nothing_yet_is_no_failure_and_runs_when_there_is(world: Sessions, alice: Peer) -> None:
    shown: list[object] = []

    def body(run: Run) -> None:
        if run.read(D) is ABSENT:
            raise NotYet
        shown.append(run.read(D))

    alice.effect("e", body)
    world.settle()
    alice.put("d", 1)
    world.settle()
    assert (shown, alice.failures) == ([1], [])


def test_values_that_are_no_json_are_a_failure_of_the_body_and_leave_the_node_subscribed(
    world: Sessions, alice: Peer
) -> None:
    alice.effect("e", lambda run: (run.read(IN), run.write(D, (), float("nan"))))
    world.settle()
    assert [failure.code for failure in alice.failures] == ["body-failed"]
    alice.put("in", 1)
    world.settle()
    assert len(alice.failures) == 2


def test_a_listener_that_raises_strands_nothing(world: Sessions, alice: Peer) -> None:
    def raising(failure: object) -> None:
        raise OSError("no log")

    alice.scheduler._outlets = Outlets(failed=raising)
    alice.effect("e", lambda run: 1 / (run.read(IN) is not ABSENT))
    world.settle()
    assert alice.counts.counts_breakdown()["scheduler"] == {"body-failed": 1, "listener-raised": 1}
    alice.put("in", 1)
    world.settle()
    assert alice.ran == ["e", "e"]
    assert alice.scheduler.is_idle(durable=True)


# -- registrations


def test_a_late_result_does_not_touch_a_later_registration(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    alice.put("in", 1)
    world.settle()
    node = alice.effect("e", lambda run: run.write(D, (), run.read(IN)))
    bob.put("in", 2)
    while bob.link.up():
        pass
    world.loop.decide()
    alice.run()  # its commit will meet a conflict
    alice.scheduler.unregister(node)
    alice.scheduler.register(node)
    alice.run()
    runs = node.runs
    alice.link.up()
    world.loop.settle()
    assert node.stale_failures <= 1, "only the present registration's commit counts"
    world.settle()
    assert alice.value("d") == 2
    assert runs == 2


def test_an_ordinal_is_kept_across_registrations(world: Sessions, alice: Peer) -> None:
    first, second = alice.effect("first", reads("d")), alice.effect("second", reads("d"))
    world.settle()
    alice.scheduler.unregister(first)
    alice.scheduler.register(first)
    alice.put("d", 1)
    alice.ran.clear()
    world.settle()
    assert alice.ran == ["first", "second"]
    assert first.ordinal < second.ordinal


def test_children_end_with_their_parents_next_run_and_with_their_parent(world: Sessions, alice: Peer) -> None:
    made: list[Node] = []

    def body(run: Run) -> None:
        run.read(IN)
        made.append(alice.effect(f"child{len(made)}", reads("d"), parent=run.node))

    parent = alice.effect("parent", body)
    world.settle()
    alice.put("in", 1)
    world.settle()
    assert [node.registered for node in made] == [False, True]
    alice.scheduler.unregister(parent)
    assert list(alice.scheduler.nodes) == []
    alice.ran.clear()
    alice.put("d", 1)
    world.settle()
    assert alice.ran == []


def test_a_child_of_a_live_parent_runs_once_though_nobody_reads_it(world: Sessions, alice: Peer) -> None:
    made: list[Node] = []
    alice.effect("parent", lambda run: made.append(alice.derive("x", plus_one, parent=run.node)))
    world.settle()
    assert [(node.runs, node.live) for node in made] == [(1, False)]
    alice.put("in", 3)
    world.settle()
    assert made[0].runs == 1


# -- order


def test_a_diamond_runs_each_node_once_and_in_order(world: Sessions, alice: Peer) -> None:
    alice.effect("show", reads("join"))
    alice.derive("join", reads("left", "right"))
    alice.derive("right", reads("top"))
    alice.derive("left", reads("top"))
    alice.derive("top", plus_one)
    world.settle()
    alice.ran.clear()
    alice.put("in", 4)
    world.settle()
    assert alice.ran == ["top", "right", "left", "join", "show"]


def test_a_chain_longer_than_a_pass_settles_without_waiting(world: Sessions, alice: Peer) -> None:
    alice.derive("0", plus_one)
    for number in range(1, 60):
        alice.derive(str(number), lambda run, number=number: (run.read(Document(str(number - 1))) or 0) + 1)
    alice.effect("show", reads("59"))
    alice.failures.clear()
    alice.put("in", 1)
    world.settle()
    assert alice.value("59") == 61
    assert alice.counts.counts_breakdown().get("scheduler", {}).get("pass-did-not-converge") is None


# -- asynchronous bodies


def test_nothing_runs_while_a_body_is_awaited(world: Sessions, alice: Peer) -> None:
    async def slow(run: Run) -> None:
        run.read(IN)
        await Pause()
        run.write(D, (), 1)

    alice.effect("slow", slow)
    alice.effect("quick", reads("in"))
    alice.run()
    assert alice.ran == []
    assert not alice.scheduler.is_idle()
    alice.resume()
    world.settle()
    assert alice.ran == ["slow", "quick"]
    assert alice.value("d") == 1


def test_a_run_whose_reads_changed_under_it_does_not_end_clean(world: Sessions, alice: Peer) -> None:
    """It read something for the first time, and it changed before the run ended: nobody had subscribed
    to it."""
    seen: list[object] = []

    async def slow(run: Run) -> None:
        seen.append(run.read(IN))
        await Pause()

    alice.put("in", 1)
    node = alice.effect("slow", slow)
    alice.run()
    alice.put("in", 2)
    alice.resume()
    alice.step()
    assert node.status is Status.INVALID
    assert [cause.origin for cause in node.causes] == [Origin.LOCAL]
    alice.run()
    alice.resume()
    world.settle()
    assert seen == [1, 2]
    assert node.status is Status.CLEAN


@pytest.mark.parametrize(("derived_by", "status"), [("h1", Status.CLEAN), ("", Status.INVALID)])
def test_what_it_derived_itself_is_no_cause_while_it_runs_either(alice: Peer, derived_by: str, status: Status) -> None:
    """It serves, and an earlier commit of its own comes back without its transaction (seed §4)."""

    async def slow(run: Run) -> None:
        run.read(D)
        await Pause()
        run.write(D, (), 1)

    replica = alice.client.replica
    replica.holder = "h1"
    node = alice.effect("slow", slow)
    alice.run()
    came = Change(Address(replica.entity(D)), ABSENT, 0, derived_by)
    alice.scheduler.invalidation.notified(Notification(NotificationKind.INTEGRATE, replica.space, (came,)))
    alice.resume()
    alice.step()
    assert node.status is status


def test_a_body_that_ends_after_its_action_was_taken_out_commits_nothing(world: Sessions, alice: Peer) -> None:
    async def slow(run: Run) -> None:
        run.write(D, (), 1)
        await Pause()

    node = alice.effect("slow", slow)
    alice.run()
    alice.scheduler.unregister(node)
    alice.resume()
    world.settle()
    assert alice.value("d") is ABSENT


# -- lost connections


def test_a_commit_whose_session_was_lost_is_done_again(world: Sessions, alice: Peer) -> None:
    alice.put("in", 1)
    world.settle()
    alice.effect("e", lambda run: run.write(D, (), run.read(IN)))
    alice.run()
    alice.link.cut()
    world.clock.advance(10_000_000)  # the server forgets the session
    world.hub.tick()
    alice.link.connect()
    world.settle()
    assert alice.value("d") == 1


def test_after_dispose_nothing_runs_and_who_waited_is_released(world: Sessions, alice: Peer) -> None:
    alice.effect("e", reads("in"), debounce_ms=1_000)
    world.settle()
    alice.put("in", 1)
    told: list[str] = []
    alice.scheduler.when_idle(lambda: told.append("idle"))
    assert told == []
    alice.scheduler.dispose()
    assert told == ["idle"]
    alice.ran.clear()
    world.advance(10_000)
    assert alice.ran == []


def test_a_change_between_a_bodys_end_and_the_next_step_is_not_missed(world: Sessions, alice: Peer) -> None:
    seen: list[object] = []

    async def slow(run: Run) -> None:
        seen.append(run.read(IN))
        await Pause()

    alice.put("in", 1)
    alice.effect("slow", slow)
    alice.run()
    alice.resume()
    alice.put("in", 2)
    alice.run()
    alice.resume()
    world.settle()
    assert seen == [1, 2]
