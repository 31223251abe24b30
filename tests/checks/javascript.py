"""What tests of the JavaScript example need: a ``node`` to run it with."""

import shutil

import pytest

needs_node = pytest.mark.skipif(
    shutil.which("node") is None,
    reason="there is no node to run the JavaScript example with, and nothing else of ours needs one; "
    "all that the protocol asks is asked of the example in Python",
)
