"""Coverage-guided fuzzing of what a server and a client receive, with atheris.

``pip install atheris``, then ``python tests/impl/store_fuzz.py -max_total_time=60``; all arguments are the
fuzzer's own. It is not among the project's dependencies: the structured fuzzing in ``test_store_frames.py``
needs nothing more.
"""

from __future__ import annotations

import sys


def main() -> None:
    """One welcomed session sends any bytes, a line a frame; then a client receives them."""
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed here: pip install atheris, then run this again")
    with atheris.instrument_imports(include=["quiesce"]):
        from store_world import World
        from test_store_server import Peer

        from quiesce.storage.client import Phase

    def once(data: bytes) -> None:
        world = World()
        peer = Peer(world, "ann")
        peer.welcome()
        client, link = world.client("ben")
        for frame in data.split(b"\n"):
            world.hub.receive(peer.connection, frame)
            client.receive(frame)
        peer.take()
        world.settle()
        link.cut()
        if client.phase is not Phase.ENDED:
            link.connect()
            world.settle()
            assert client.phase in (Phase.LIVE, Phase.ENDED), client.phase
        Peer(world, "cid").welcome()

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
