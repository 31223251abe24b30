// A gate in front of a task, as a program would use it: it is told what happens and when, and keeps deadlines.
// Written on its own, and not after gate.py. Times are in milliseconds; the caller brings the clock.
"use strict";

class NotNow extends Error {}

class Gate {
  #deadlines = { quiet: 0, spacing: 0, backoff: 0 };
  #changed = false;
  #running = false;
  #failures = 0; // in a row

  constructor({ debounce, throttle, base, cap }) {
    Object.assign(this, { debounce, throttle, base, cap });
  }

  change(now) {
    this.#changed = true;
    this.#deadlines.quiet = now + this.debounce;
  }

  start(now) {
    if (this.#running) throw new NotNow("it runs already");
    if (!this.#changed) throw new NotNow("nothing has changed");
    for (const [name, deadline] of Object.entries(this.#deadlines)) {
      if (!this.passed(deadline, now)) throw new NotNow(`${name} ends at ${deadline}`);
    }
    this.#changed = false;
    this.#running = true;
  }

  succeed(now) {
    this.#finish(now);
    this.#failures = this.failuresAfterSuccess(this.#failures);
  }

  fail(now) {
    this.#finish(now);
    this.#changed = true; // it is owed another run
    this.#failures += 1;
    this.#deadlines.backoff = now + this.delay;
  }

  // Where a planted bug can take hold (see gate_adapter.js).
  passed(deadline, now) {
    return now >= deadline;
  }

  failuresAfterSuccess() {
    return 0;
  }

  get delay() {
    if (this.#failures === 0) return 0;
    return Math.min(this.base * 2 ** (this.#failures - 1), this.cap);
  }

  get status() {
    if (this.#running) return this.#changed ? "RUNNING_AND_DUE" : "RUNNING";
    return this.#changed ? "DUE" : "IDLE";
  }

  left(name, now) {
    return Math.max(0, this.#deadlines[name] - now);
  }

  #finish(now) {
    if (!this.#running) throw new NotNow("it does not run");
    this.#running = false;
    this.#deadlines.spacing = now + this.throttle;
  }
}

module.exports = { Gate, NotNow };
