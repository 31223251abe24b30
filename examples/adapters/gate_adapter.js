// The gate of gate.js behind quiesce's adapter protocol: four methods, one line of JSON each way. Needs nothing but Node.
//
//     node gate_adapter.js [--bug late | --bug forgets]
"use strict";

const readline = require("node:readline");
const { Gate, NotNow } = require("./gate.js");

const GATES = {
  none: Gate,
  // A planted bug: at its deadline the gate is still shut.
  late: class extends Gate {
    passed(deadline, now) {
      return now > deadline || deadline === 0;
    }
  },
  // A planted bug: a success leaves the delay as long as it was.
  forgets: class extends Gate {
    failuresAfterSuccess(failures) {
      return failures;
    }
  },
};

// A request that cannot be answered, with a code of JSON-RPC.
class Wrong extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const METHODS = {
  describe() {
    return {
      protocol: 1,
      name: "gate.js",
      actions: { change: [], start: [], finish: ["how"] },
      fields: ["status", "quiet", "spacing", "backoff", "step"],
      refuses: ["GATE-2", "GATE-3", "GATE-4", "GATE-5", "GATE-6"],
    };
  },

  reset(state, { constants, tick }) {
    const ms = (name) => whole(constants[name]) * tick; // tick: milliseconds in a unit of the model's time
    const times = { debounce: ms("debounce"), throttle: ms("throttle"), base: ms("base"), cap: ms("cap") };
    state.tick = tick;
    state.gate = new state.make(times);
    return { seen: seen(state, 0) };
  },

  step(state, { action, args, at }) {
    const now = whole(at);
    const gate = state.gate;
    try {
      if (action === "change") gate.change(now);
      else if (action === "start") gate.start(now);
      else if (action === "finish" && args.how === "DONE") gate.succeed(now);
      else if (action === "finish" && args.how === "FAILED") gate.fail(now);
      else throw new Wrong(-32602, `there is no ${action}(${JSON.stringify(args)})`);
    } catch (error) {
      if (error instanceof NotNow) return { refused: error.message, seen: seen(state, now) };
      throw error;
    }
    return { seen: seen(state, now) };
  },

  observe(state, { at }) {
    return { seen: seen(state, whole(at)) };
  },
};

// The gate in the model's words: rests are whole units of its time.
function seen({ gate, tick }, now) {
  const units = (ms) => Math.floor(ms / tick);
  return {
    status: gate.status,
    quiet: units(gate.left("quiet", now)),
    spacing: units(gate.left("spacing", now)),
    backoff: units(gate.left("backoff", now)),
    step: units(gate.delay),
  };
}

// A number of the protocol. Those beyond 2^53 - 1 come as {"#bigint": "…"}, and this program has no use for them.
function whole(number) {
  if (Number.isSafeInteger(number)) return number;
  throw new Wrong(-32602, `${JSON.stringify(number)} is no whole number that fits`);
}

function answer(state, line) {
  let id = null;
  try {
    let request;
    try {
      request = JSON.parse(line);
    } catch {
      throw new Wrong(-32700, "this is not JSON");
    }
    if (request === null || typeof request !== "object" || Array.isArray(request)) {
      throw new Wrong(-32600, "a request is an object");
    }
    id = request.id ?? null;
    if (!Object.hasOwn(METHODS, request.method)) throw new Wrong(-32601, `there is no method ${request.method}`);
    try {
      return { jsonrpc: "2.0", id, result: METHODS[request.method](state, request.params ?? {}) };
    } catch (error) {
      if (error instanceof TypeError) throw new Wrong(-32602, `${request.method} cannot be called so: ${error.message}`);
      throw error;
    }
  } catch (error) {
    return { jsonrpc: "2.0", id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

const at = process.argv.indexOf("--bug");
const state = { make: GATES[at < 0 ? "none" : process.argv[at + 1]] };
readline.createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", (line) => {
  process.stdout.write(JSON.stringify(answer(state, line)) + "\n");
});
