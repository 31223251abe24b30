import os, re, pytest


@pytest.fixture(autouse=True)
def _trace(request, monkeypatch):
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid)[-150:]
    monkeypatch.setenv("QUIESCE_TRACE", os.path.join(os.environ["TRACE_FOLDER"], name + ".ndjson"))
