"""The gate of gate.py behind quiesce's adapter protocol: four methods, one line of JSON each way. Needs nothing but
Python.

python gate_adapter.py [--bug late | --bug forgets]
"""

import json
import sys

from gate import Gate, NotNow


class OpensLate(Gate):
    """A planted bug: at its deadline the gate is still shut."""

    def is_open(self, now):
        return now > self.opens_at() or self.opens_at() == 0


class Forgets(Gate):
    """A planted bug: a success leaves the delay as long as it was."""

    def clear(self):
        pass


GATES = {"": Gate, "late": OpensLate, "forgets": Forgets}


class Wrong(Exception):
    """A request that cannot be answered, with a code of JSON-RPC."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Adapter:
    def __init__(self, make):
        self.make = make

    def describe(self, **_):
        return {
            "protocol": 1,
            "name": "gate.py",
            "actions": {"change": [], "start": [], "finish": ["how"]},
            "fields": ["status", "quiet", "spacing", "backoff", "step"],
            "refuses": ["GATE-2", "GATE-3", "GATE-4", "GATE-5", "GATE-6"],
        }

    def reset(self, constants, tick, **_):
        self.tick = tick  # milliseconds in a unit of the model's time
        names = ("debounce", "throttle", "base", "cap")
        self.gate = self.make(**{name: whole(constants[name]) * tick for name in names})
        return {"seen": self.seen(0)}

    def step(self, action, args, at, **_):
        at = whole(at)
        try:
            if action == "change":
                self.gate.change(at)
            elif action == "start":
                self.gate.start(at)
            elif action == "finish" and args.get("how") in ("DONE", "FAILED"):
                self.gate.finish(args["how"] == "FAILED", at)
            else:
                raise Wrong(-32602, f"there is no {action}({args})")
        except NotNow as reason:
            return {"refused": str(reason), "seen": self.seen(at)}
        return {"seen": self.seen(at)}

    def observe(self, at, **_):
        return {"seen": self.seen(whole(at))}

    def seen(self, now):
        """The gate in the model's words: rests are whole units of its time."""
        gate = self.gate
        status = ("RUNNING_AND_DUE" if gate.due else "RUNNING") if gate.running else "DUE" if gate.due else "IDLE"
        return {
            "status": status,
            "quiet": max(0, gate.quiet_at - now) // self.tick,
            "spacing": max(0, gate.spaced_at - now) // self.tick,
            "backoff": max(0, gate.retry_at - now) // self.tick,
            "step": gate.delay // self.tick,
        }


def whole(number):
    """A number of the protocol: large ones come as {"#bigint": "…"}."""
    return int(number["#bigint"]) if isinstance(number, dict) else number


def answer(adapter, line):
    """The answer to one line, as an object."""
    number = None
    try:
        try:
            request = json.loads(line)
        except ValueError:
            raise Wrong(-32700, "this is not JSON") from None
        if not isinstance(request, dict):
            raise Wrong(-32600, "a request is an object")
        number = request.get("id")
        if request.get("method") not in ("describe", "reset", "step", "observe"):
            raise Wrong(-32601, f"there is no method {request.get('method')}")
        try:
            result = getattr(adapter, request["method"])(**request.get("params", {}))
        except (TypeError, KeyError, AttributeError) as error:
            raise Wrong(-32602, f"{request['method']} cannot be called so: {error}") from None
        return {"jsonrpc": "2.0", "id": number, "result": result}
    except Wrong as wrong:
        return {"jsonrpc": "2.0", "id": number, "error": {"code": wrong.code, "message": str(wrong)}}


def main():
    bug = sys.argv[2] if sys.argv[1:2] == ["--bug"] and sys.argv[2:] else ""
    adapter = Adapter(GATES[bug])
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(answer(adapter, line)) + "\n")
        sys.stdout.flush()  # or nobody sees the answer


if __name__ == "__main__":
    main()
