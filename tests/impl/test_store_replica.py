"""Replica and transaction: what a session sees, what it is told, and what its commits carry."""

from __future__ import annotations

from typing import Any

import pytest
from store_world import World

from quiesce.address import Scope
from quiesce.commits import Document, DocumentAbsent
from quiesce.protocol import Watch
from quiesce.storage.client import Client
from quiesce.storage.notification import Notification, NotificationKind
from quiesce.storage.transaction import CommitHandle, Settled, TransactionLog
from quiesce.values import ABSENT, ValueRefused

CARD = Document("card")
OTHER = Document("other")


def write(client: Client, *writes: tuple[tuple[str, ...], Any], document: Document = CARD) -> CommitHandle:
    transaction = client.replica.begin()
    for path, value in writes:
        transaction.write(document, path, value)
    return transaction.commit()


def heard(client: Client) -> list[Notification]:
    told: list[Notification] = []
    client.replica.subscribe(told.append)
    return told


def paths(notification: Notification) -> list[tuple[str, ...]]:
    return [change.address.path for change in notification.changes]


def test_a_commit_is_visible_and_told_at_once_with_its_source(world: World) -> None:
    client, _ = world.client("ann")
    told = heard(client)
    action = object()
    transaction = client.replica.begin(source_action=action)
    transaction.write(CARD, ("title",), "hello")
    handle = transaction.commit()
    assert client.replica.visible(CARD) == {"title": "hello"}
    assert handle.result is None
    assert [n.kind for n in told] == [NotificationKind.COMMIT]
    assert told[0].source is transaction
    assert told[0].source.source_action is action
    assert told[0].changes[0].before is ABSENT
    world.settle()
    assert handle.result is not None
    assert handle.result.settled is Settled.COMMITTED
    assert len(told) == 1, "becoming confirmed changes nothing visible"


def test_an_equal_write_leaves_no_detail_and_sends_nothing(world: World) -> None:
    client, link = world.client("ann")
    write(client, ((), {"n": 1, "flag": True}))
    world.settle()
    logs: list[TransactionLog] = []
    transaction = client.replica.begin()
    transaction.before_commit(logs.append)
    transaction.write(CARD, ("n",), 1.0)
    transaction.write(CARD, ("flag",), False)
    transaction.write(CARD, ("flag",), True)
    handle = transaction.commit()
    assert handle.result is not None
    assert handle.result.settled is Settled.COMMITTED
    assert logs[0].writes == ()
    assert [address.path for address in logs[0].reads] == [("n",), ("flag",)], "every write reads its diff base"
    assert link.waiting_up() == 0


def test_one_is_not_true(world: World) -> None:
    client, _ = world.client("ann")
    write(client, ((), {"n": 1}))
    world.settle()
    logs: list[TransactionLog] = []
    transaction = client.replica.begin()
    transaction.before_commit(logs.append)
    transaction.write(CARD, ("n",), True)
    transaction.commit()
    assert [(detail.value, detail.previous) for detail in logs[0].writes] == [(True, 1)]


def test_details_hold_the_last_value_and_the_one_before_the_transaction(world: World) -> None:
    client, _ = world.client("ann")
    write(client, ((), {"n": 1, "list": [1, 2, 3], "o": {"k": 1}}))
    world.settle()
    logs: list[TransactionLog] = []
    transaction = client.replica.begin()
    transaction.before_commit(logs.append)
    transaction.write(CARD, ("n",), 2)
    transaction.write(CARD, ("n",), 3)
    transaction.delete(CARD, ("list", "0"))
    transaction.write(CARD, ("o", "k"), 2)
    transaction.write(CARD, ("o",), {"k": 3})
    assert transaction.read(CARD, ("list",)) == [2, 3]
    transaction.commit()
    details = {detail.address.path: (detail.value, detail.previous) for detail in logs[0].writes}
    assert details == {("n",): (3, 1), ("list",): ([2, 3], [1, 2, 3]), ("o",): ({"k": 3}, {"k": 1})}
    world.settle()
    assert client.replica.confirmed(CARD)[1] == {"n": 3, "list": [2, 3], "o": {"k": 3}}


def test_missing_objects_are_made_where_the_first_is_missing(world: World) -> None:
    client, _ = world.client("ann")
    write(client, ((), {"beside": 1}))
    world.settle()
    logs: list[TransactionLog] = []
    transaction = client.replica.begin()
    transaction.before_commit(logs.append)
    transaction.write(CARD, ("a", "b", "c"), 1)
    transaction.commit()
    assert [detail.address.path for detail in logs[0].writes] == [("a",)], "fields beside are not touched"


def test_a_foreign_value_under_a_pending_write_changes_nothing_visible(world: World) -> None:
    ann, ann_link = world.client("ann")
    ben, _ = world.client("ben")
    write(ann, ((), {"title": "", "n": 0}))
    world.settle()
    told = heard(ann)
    write(ben, (("title",), "ben's"), (("n",), 7))
    while world.loop.links[1].up():
        pass
    world.loop.decide()
    handle = write(ann, (("title",), "ann's"))
    ann_link.down()
    assert ann.replica.visible(CARD) == {"title": "ann's", "n": 7}
    assert ann.replica.confirmed(CARD)[1] == {"title": "ben's", "n": 7}
    assert [(n.kind, paths(n)) for n in told] == [
        (NotificationKind.COMMIT, [("title",)]),
        (NotificationKind.INTEGRATE, [("n",)]),
    ]
    told.clear()
    world.settle()
    assert handle.result is not None
    assert handle.result.settled is Settled.STALE
    assert [(n.kind, paths(n)) for n in told] == [(NotificationKind.REVERT, [("title",)])]
    assert told[0].source is handle.transaction
    assert ann.replica.visible(CARD) == {"title": "ben's", "n": 7}


def test_a_refusal_is_not_visible_before_the_window_that_explains_it(world: World) -> None:
    ann, ann_link = world.client("ann")
    ben, _ = world.client("ben")
    write(ann, ((), {"n": 0}))
    world.settle()
    write(ben, (("n",), 1))
    handle = write(ann, (("n",), 2))
    world.loop.links[1].up()
    ann_link.up()
    world.loop.decide()
    assert ann_link.down()
    assert handle.verdict is not None
    assert handle.verdict.outcome == "conflict"
    assert ann.replica.visible(CARD) == {"n": 2}
    assert handle.result is None
    told = heard(ann)
    ann_link.down()
    assert ann.replica.visible(CARD) == {"n": 1}
    assert handle.result is not None
    assert len(told) == 1, "the revert and what caused it come in one step"


def test_no_commit_names_a_layer_that_is_known_to_be_refused(world: World) -> None:
    ann, ann_link = world.client("ann")
    ben, ben_link = world.client("ben")
    write(ann, ((), {"n": 0, "m": 0}))
    world.settle()
    write(ben, (("n",), 1))
    ben_link.up()
    world.loop.decide()
    first = write(ann, (("n",), 2))
    ann_link.up()
    world.loop.decide()
    # ben's window, then the verdict, not yet the window that covers it
    ann_link.down()
    ann_link.down()
    assert first.verdict is not None
    assert first.result is None
    sent = ann_link.waiting_up()
    transaction = ann.replica.begin()
    transaction.write(CARD, ("m",), transaction.read(CARD, ("n",)))
    second = transaction.commit()
    assert ann_link.waiting_up() == sent, "a doomed commit is not sent"
    assert second.result is None
    world.settle()
    assert second.result is not None
    assert second.result.settled is Settled.STALE
    assert ann.replica.visible(CARD) == {"n": 1, "m": 0}


def test_a_chain_of_pending_writes_falls_together(world: World) -> None:
    ann, _ = world.client("ann")
    ben, ben_link = world.client("ben")
    write(ann, ((), {"n": 0}))
    world.settle()
    write(ben, (("n",), 10))
    ben_link.up()
    chain = [write(ann, (("n",), value)) for value in (1, 2, 3)]
    told = heard(ann)
    world.settle()
    assert [h.result.settled for h in chain if h.result] == [Settled.STALE] * 3
    assert ann.replica.visible(CARD) == {"n": 10}
    reverts = [n for n in told if n.kind is NotificationKind.REVERT]
    assert [c.after for n in reverts for c in n.changes] == [{"n": 10}], "seen once, with its cause"


def test_a_transaction_reads_one_snapshot(world: World) -> None:
    ann, _ = world.client("ann")
    ben, _ = world.client("ben")
    write(ann, ((), {"n": 1}))
    write(ann, ((), {"n": 1}), document=OTHER)
    world.settle()
    transaction = ann.replica.begin()
    assert transaction.read(CARD, ("n",)) == 1
    both = ben.replica.begin()
    both.write(CARD, ("n",), 2)
    both.write(OTHER, ("n",), 2)
    both.commit()
    world.settle()
    assert transaction.read(OTHER, ("n",)) == 1, "not half of a later state"
    transaction.write(OTHER, ("m",), 1)
    handle = transaction.commit()
    assert handle.result is not None
    assert handle.result.settled is Settled.STALE
    assert handle.result.code == "inconsistent"
    assert handle.local_seq is None, "judged here, without a round trip"


@pytest.mark.parametrize(
    ("start", "path", "change"),
    [
        ({"list": [1]}, ("list", "1"), {"list": []}),
        ({"o": {}}, ("o", "k"), {"o": 5}),
        ({"o": {}}, ("o", "k"), {"o": []}),
        ({"o": {}}, ("o", "k"), {}),
    ],
)
def test_an_edit_whose_place_has_gone_is_run_again_and_not_refused_for_good(
    world: World, start: Any, path: tuple[str, ...], change: Any
) -> None:
    ann, _ = world.client("ann")
    ben, _ = world.client("ben")
    write(ann, ((), start))
    world.settle()
    transaction = ann.replica.begin()
    transaction.write(CARD, path, "new")
    write(ben, ((), change))
    world.settle()
    handle = transaction.commit()
    world.settle()
    assert handle.result is not None
    assert handle.result.settled is Settled.STALE


def test_an_append_rests_on_the_appends_before_it(world: World) -> None:
    ann, _ = world.client("ann")
    ben, ben_link = world.client("ben")
    write(ann, ((), {"list": [], "n": 0}))
    world.settle()
    write(ben, (("n",), 1))
    ben_link.up()
    transaction = ann.replica.begin()
    transaction.read(CARD, ("n",))
    transaction.write(CARD, ("list", "0"), "first")
    first = transaction.commit()
    second = write(ann, (("list", "1"), "second"))
    world.settle()
    assert first.result is not None
    assert second.result is not None
    assert (first.result.settled, second.result.settled) == (Settled.STALE, Settled.STALE)
    assert ann.replica.visible(CARD) == {"list": [], "n": 1}


def test_a_pending_put_that_now_brings_the_key_is_under_a_read_of_the_keys(world: World) -> None:
    ann, ann_link = world.client("ann")
    ben, _ = world.client("ben")
    write(ann, ((), {"a": 1, "b": 1}))
    world.settle()
    ann_link.cut()
    write(ben, ((), {"a": 1}))
    world.settle()
    first = write(ann, (("b",), 2))  # over what it has: the key is there
    ann_link.connect()
    while ann_link.up():
        pass
    world.loop.decide()
    while ann_link.waiting_down() > 2:  # all but the verdict and the window
        ann_link.down()
    while ann_link.up():
        pass
    world.loop.decide()
    transaction = ann.replica.begin()
    keys = transaction.read_keys(CARD)
    transaction.write(OTHER, ("keys",), list(keys) if isinstance(keys, tuple) else None)
    second = transaction.commit()
    assert ann.replica.layers[-1].commit.pending, "the commit names the layer that it may rest on"
    world.settle()
    assert first.result is not None
    assert second.result is not None
    assert (first.result.settled, second.result.settled) == (Settled.STALE, Settled.STALE)


def test_reading_without_writing_is_never_judged(world: World) -> None:
    ann, _ = world.client("ann")
    ben, _ = world.client("ben")
    transaction = ann.replica.begin()
    transaction.read(CARD)
    write(ben, ((), {"n": 2}))
    world.settle()
    handle = transaction.commit()
    assert handle.result is not None
    assert handle.result.settled is Settled.COMMITTED


def test_a_shallow_read_survives_changes_inside(world: World) -> None:
    ann, _ = world.client("ann")
    ben, ben_link = world.client("ben")
    write(ann, ((), {"items": {"a": 1}}))
    world.settle()

    def count_items(client: Client) -> CommitHandle:
        transaction = client.replica.begin()
        keys = transaction.read_keys(CARD, ("items",))
        assert isinstance(keys, tuple)
        transaction.write(OTHER, ("count",), len(keys) + 10 * client.unsettled)
        return transaction.commit()

    write(ben, (("items", "a"), 2))
    ben_link.up()
    inside = count_items(ann)
    world.settle()
    assert inside.result is not None
    assert inside.result.settled is Settled.COMMITTED
    write(ben, (("items", "b"), 2))
    ben_link.up()
    transaction = ann.replica.begin()
    transaction.read_keys(CARD, ("items",))
    transaction.write(OTHER, ("count",), 99)
    added = transaction.commit()
    world.settle()
    assert added.result is not None
    assert added.result.settled is Settled.STALE


def test_the_same_id_is_another_document_in_another_scope_and_space(world: World) -> None:
    ann, _ = world.client("ann", "board", *(Watch("", scope, prefix=True) for scope in Scope))
    ben, _ = world.client("ben", "board", *(Watch("", scope, prefix=True) for scope in Scope))
    elsewhere, _ = world.client("ann", "another")
    mine = Document("card", Scope.USER)
    write(ann, ((), {"of": "everyone"}))
    write(ann, ((), {"of": "ann"}), document=mine)
    world.settle()
    assert ben.replica.visible(CARD) == {"of": "everyone"}
    assert ben.replica.visible(mine) is ABSENT
    assert elsewhere.replica.visible(CARD) is ABSENT
    entities = {
        ann.replica.entity(CARD),
        ann.replica.entity(mine),
        ben.replica.entity(mine),
        elsewhere.replica.entity(CARD),
    }
    assert len(entities) == 4


def test_a_permanent_refusal_says_so(world: World) -> None:
    ann, _ = world.client("ann")
    write(ann, ((), {"n": 1}))
    world.settle()
    transaction = ann.replica.begin()
    transaction.require(DocumentAbsent("card"))
    transaction.write(CARD, ("n",), 2)
    handle = transaction.commit()
    world.settle()
    assert handle.result is not None
    assert handle.result.settled is Settled.PERMANENT
    assert handle.result.code == "document-exists"
    assert ann.replica.visible(CARD) == {"n": 1}


def test_an_unwatched_document_is_repaired_by_the_conflict_that_it_causes(world: World) -> None:
    ann, _ = world.client("ann", "board", Watch("elsewhere"))
    ben, _ = world.client("ben")
    write(ben, ((), {"n": 5}))
    world.settle()
    assert ann.replica.visible(CARD) is ABSENT
    first = write(ann, ((), {"n": 1}))
    world.settle()
    assert first.result is not None
    assert first.result.settled is Settled.STALE
    assert ann.replica.visible(CARD) == {"n": 5}, "the covering window brought what it had not seen"
    again = write(ann, (("n",), 6))
    world.settle()
    assert again.result is not None
    assert again.result.settled is Settled.COMMITTED


def test_leaving_a_watch_takes_its_documents_away(world: World) -> None:
    ann, _ = world.client("ann")
    write(ann, ((), {"n": 1}))
    world.settle()
    told = heard(ann)
    ann.unwatch(Watch("", prefix=True))
    world.settle()
    assert ann.replica.visible(CARD) is ABSENT
    assert [(n.kind, paths(n)) for n in told] == [(NotificationKind.PULL, [()])]


def test_a_value_that_is_not_json_never_gets_in(world: World) -> None:
    ann, _ = world.client("ann")
    transaction = ann.replica.begin()
    with pytest.raises(ValueRefused, match="nan"):
        transaction.write(CARD, ("n",), float("nan"))


def test_values_come_back_unchanged(world: World) -> None:
    ann, _ = world.client("ann")
    ben, _ = world.client("ben")
    value = {"i": 12345678901234567890123, "f": 0.1, "one": 1.0, "s": "é\u2028\U0001f600\x00", "n": None, "l": [[], {}]}
    write(ann, ((), value))
    world.settle()
    seen = ben.replica.visible(CARD)
    assert seen == value
    assert isinstance(seen, dict)
    assert type(seen["one"]) is float


def test_a_transaction_ends_once(world: World) -> None:
    ann, _ = world.client("ann")
    transaction = ann.replica.begin()
    transaction.abort()
    with pytest.raises(RuntimeError, match="has ended"):
        transaction.write(CARD, (), 1)


def test_before_the_welcome_nothing_can_begin(world: World) -> None:
    client, _ = world.client("ann", connect=False)
    with pytest.raises(RuntimeError, match="has not been welcomed"):
        client.replica.begin()
