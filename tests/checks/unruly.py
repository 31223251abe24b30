"""The gate's adapter of the examples with one rule of the protocol broken.

python unruly.py FAULT
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "adapters"))

import gate_adapter
from gate import Gate

FAULT = sys.argv[1]


class Unruly(gate_adapter.Adapter):
    looks = 0
    lines = 0

    def describe(self, **given):
        said = super().describe(**given)
        if FAULT == "describes otherwise":
            said["name"] = f"gate {self.looks}"
        if FAULT == "refuses nothing":
            said["refuses"] = []
        if FAULT == "other field":
            said["fields"] += ["colour"]
        return said

    def reset(self, **given):
        old = getattr(self, "gate", None)
        made = super().reset(**given)
        if FAULT == "leaves" and old is not None:
            self.gate.delay = old.delay
        return {} if FAULT == "shows little" else made

    def step(self, action, args, at, **given):
        before = self.seen(gate_adapter.whole(at))
        try:
            made = super().step(action=action, args=args, at=at, **given)
        except gate_adapter.Wrong:
            if FAULT == "does anything":
                return {}
            if FAULT == "changes on an error":
                self.gate.change(0)
            raise
        if FAULT == "shows now and then" and at % 2:
            del made["seen"]
        if FAULT == "shows what was":
            made["seen"] = before
        if "refused" in made:
            if FAULT == "refusals are errors":
                raise gate_adapter.Wrong(7, made["refused"])
            if FAULT == "odd refusals":
                made["refused"] = 1
            if FAULT == "changes on a refusal":
                self.gate.change(0)
        return {key: made[key] for key in made if key != "seen"} if FAULT == "shows little" else made

    def observe(self, at, **given):
        self.looks += 1
        if FAULT == "32 bits" and gate_adapter.whole(at) >= 2**31:
            raise gate_adapter.Wrong(-32602, "too late")
        if FAULT == "strict" and given:
            raise gate_adapter.Wrong(-32602, "too many keys")
        if FAULT == "no large numbers" and isinstance(at, dict):
            sys.exit("no large numbers here")
        return super().observe(at, **given)

    def seen(self, now):
        found = super().seen(now)
        if FAULT == "own start":
            found["step"] = os.getpid()
        if FAULT == "counts looks":
            found["step"] = self.looks
        if FAULT == "no numbers":
            found["step"] = None
        return found


def answer(adapter, line):
    if FAULT == "dies of what is not JSON":
        json.loads(line)
    made = gate_adapter.answer(adapter, line)
    if FAULT == "no codes" and "error" in made:
        made["error"] = "no"
    if FAULT == "answers any method" and "error" in made:
        made = {"jsonrpc": "2.0", "id": made["id"], "result": {}}
    if FAULT == "ids are numbers" and not isinstance(made["id"], int):
        made["id"] = 0
    return made


def say(data):
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


def main():
    adapter = Unruly(Gate)
    if FAULT in ("last first", "short reads"):
        while part := os.read(0, 4096):  # as if what is read at once were always whole lines
            for line in part.splitlines()[:: -1 if FAULT == "last first" else 1]:
                say(answer(adapter, line))
        return
    for line in sys.stdin.buffer:
        if FAULT == "talks":
            say("asked something")
        say(answer(adapter, line))
    if FAULT == "ends badly":
        sys.exit(1)
    if FAULT == "stays":
        import time

        time.sleep(60)


main()
