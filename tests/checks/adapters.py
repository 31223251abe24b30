"""An adapter for the desk of ``desks.py``, as a program of its own, with faults that can be switched on.

    python adapters.py FAULT
    python adapters.py chance FILE N K      # right only in each Nth life, the Kth of it, counted in FILE

It sells as it should, until something is opened: there the fault shows.
"""

import json
import os
import signal
import sys
import time

ACTIONS = {"sell": [], "open": []}
FIELDS = ["sold", "rest"]


class Desk:
    sold = until = now = 0

    def describe(self, protocol):
        return {"protocol": 1, "name": "a desk", "actions": ACTIONS, "fields": FIELDS, "refuses": ["TKT-1", "TKT-2"]}

    def reset(self, constants, tick):
        self.most, self.pause = constants["most"], constants["pause"] * tick
        self.sold = self.until = 0
        return {}

    def step(self, action, args, at):
        if action not in ACTIONS:
            raise LookupError(f"no action {action!r}")
        if action == "sell":
            if self.sold >= self.most:
                return {"refused": "sold out"}
            self.sold += 1
            self.until = at + self.pause if self.sold == self.most else 0
        elif at < self.until:
            return {"refused": "pausing"}
        else:
            self.sold = 0
        return {}

    def observe(self, at):
        return {"seen": {"sold": self.sold, "rest": max(0, self.until - at)}}


def main(fault):
    desk = Desk()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            result = {"result": getattr(desk, request["method"])(**request["params"])}
        except LookupError as error:
            result = {"error": {"code": -32602, "message": str(error)}}
        answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], **result}) + "\n"
        if request["method"] == "describe":
            answer = DESCRIBED.get(fault, lambda answer: answer)(answer)
        if request["params"].get("action") == "open" and "refused" not in answer and fault in FAULTS:
            answer = FAULTS[fault](request, answer)
        sys.stdout.write(answer)
        sys.stdout.flush()


def ends(request, answer):
    sys.stderr.write("Traceback (most recent call last):\n  nobody sits here\n")
    sys.exit(3)


def closes(request, answer):
    os.close(1)
    time.sleep(60)


def chance(request, answer):
    return answer if LIFE % int(sys.argv[3]) == int(sys.argv[4]) else seen(answer, {"sold": 1, "rest": 0})


def lives(file):
    """How many there were, with this one."""
    with open(file, "a+b") as log:
        log.write(b".")
        return log.tell()


LIFE = lives(sys.argv[2]) if sys.argv[1:2] == ["chance"] else 1


def part(request, answer):
    sys.stdout.write(answer[:10])
    sys.stdout.flush()
    sys.exit(0)


def long(request, answer):
    try:
        for _ in range(40):
            sys.stdout.write("x" * 65_536)
            sys.stdout.flush()
    finally:
        os._exit(0)


FAULTS = {
    "chance": chance,
    "ends": ends,
    "killed": lambda request, answer: os.kill(os.getpid(), signal.SIGKILL),
    "closes": closes,
    "silent": lambda request, answer: "",
    "begins": lambda request, answer: answer[:10],
    "part": part,
    "long": long,
    "garbage": lambda request, answer: "opening \x1b[1m now\n",
    "empty": lambda request, answer: "\n",
    "not text": lambda request, answer: os.write(1, b"\xff\xfe\n") and "",
    "not a number": lambda request, answer: answer.replace('"result": {}', '"result": {"seen": NaN}'),
    "list": lambda request, answer: f"[{answer.strip()}]\n",
    "version": lambda request, answer: answer.replace('"2.0"', '"1.0"'),
    "other id": lambda request, answer: answer.replace(f'"id": {request["id"]}', '"id": 4711'),
    "text id": lambda request, answer: answer.replace(f'"id": {request["id"]}', f'"id": "{request["id"]}"'),
    "no id": lambda request, answer: answer.replace(f'"id": {request["id"]}, ', ""),
    "twice": lambda request, answer: answer + answer,
    "error": lambda request, answer: answer.replace(
        '"result": {}', '"error": {"code": 7, "message": "no one\\nsits here"}'
    ),
    "odd error": lambda request, answer: answer.replace('"result": {}', '"error": "no"'),
    "no result": lambda request, answer: answer.replace('"result": {}', '"outcome": {}'),
    "odd refusal": lambda request, answer: answer.replace('"result": {}', '"result": {"refused": true}'),
    "text": lambda request, answer: seen(answer, {"sold": "1", "rest": 0}),
    "fraction": lambda request, answer: seen(answer, {"sold": 0.5, "rest": 0}),
    "flag": lambda request, answer: seen(answer, {"sold": True, "rest": 0}),
    "lacks": lambda request, answer: seen(answer, {"sold": 1}),
    "extra": lambda request, answer: seen(answer, {"sold": 1, "rest": 0, "colour": 1}),
    "sees nothing": lambda request, answer: seen(answer, None),
}


def seen(answer, what):
    return answer.replace('"result": {}', json.dumps({"result": {"seen": what}})[1:-1])


DESCRIBED = {
    "dies": lambda answer: sys.exit("no such desk"),
    "old": lambda answer: answer.replace('"protocol": 1', '"protocol": 0'),
    "no refusals": lambda answer: answer.replace('"refuses"', '"refuse"'),
    "hides without a reason": lambda answer: answer.replace('"refuses"', '"hidden": {"rest": ""}, "refuses"'),
    "other action": lambda answer: answer.replace('"open"', '"opens"'),
    "no action": lambda answer: answer.replace(', "open": []', ""),
    "other parameter": lambda answer: answer.replace('"open": []', '"open": ["n"]'),
    "other field": lambda answer: answer.replace('"rest"', '"rests"'),
    "field twice": lambda answer: answer.replace('"rest"', '"sold"'),
    "no field": lambda answer: answer.replace(', "rest"', ""),
    "other rule": lambda answer: answer.replace("TKT-2", "TKT-9"),
    "hides": lambda answer: answer.replace(', "rest"', "").replace('"refuses"', '"hidden": {"rest": "why"}, "refuses"'),
}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "")
