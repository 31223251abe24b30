"""A derivation's declared surface, held to by its session and by the server."""

from __future__ import annotations

from api_world import ApiWorld, SessionPeer

from quiesce.server.health import stats


def surfaces(world: ApiWorld) -> dict[str, int]:
    return stats(world.hub)["spaces"]["board"]["surfaces"]


def derive(peer: SessionPeer, stray: list[bool]) -> None:
    """A derivation that declares to read one cell, and reads another as well when it strays."""
    declared, other = peer.session.cell("declared", default=0), peer.session.cell("other", default=0)

    @peer.session.computed(name="sum", surface=[declared])
    def sum_of() -> int:
        return declared.get() + (other.get() if stray[0] else 0)

    peer.session.effect(name="show")(lambda: sum_of.get() and None)


def test_the_server_certifies_what_stays_within_and_ends_what_does_not() -> None:
    world, stray = ApiWorld(), [False]
    alice = world.session("alice")
    derive(alice, stray)
    world.settle()
    alice.session.cell("declared").set(1)
    world.settle()
    assert surfaces(world) == {"declared": 1, "exceeded": 0}
    handles = [
        recorded.verdict.certified
        for recorded in world.engines["board"]._state.verdicts[alice.client.replica.identity.session].values()  # type: ignore[attr-defined]
    ]
    assert handles.count(True) == 2, "both runs of the derivation, and not the write from outside"
    stray[0] = True
    alice.session.cell("declared").set(2)
    world.settle()
    assert surfaces(world) == {"declared": 1, "exceeded": 1}
    assert alice.session.derivations["derived/sum"].identity.surface is None, "its session noticed as well"


def test_a_session_that_connects_anew_declares_anew() -> None:
    world = ApiWorld()
    alice = world.session("alice")
    derive(alice, [False])
    world.settle()
    world.engines["board"].begin()
    world.engines["board"].forget_certificates(1e18)
    world.engines["board"].commit()
    alice.link.cut()
    alice.link.connect()
    alice.session.cell("declared").set(1)
    world.settle()
    assert surfaces(world) == {"declared": 1, "exceeded": 0}
