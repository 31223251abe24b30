"""What the lines of a desk's log mean. How many were sold at once it does not say, and of a new roll nothing at all."""

from quiesce_checks.logs import Did, Mapping

mapping = Mapping(
    events={
        "sold": lambda e: Did("sell", seen={"sold": e["total"]} if "total" in e else {}),
        "closed": "close",
        "printer": None,
    },
    hidden=("open",),
)
