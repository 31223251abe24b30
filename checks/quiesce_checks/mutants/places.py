"""The files of the runtime that mutants change, as paths inside its package."""

from __future__ import annotations

BREAKER = "scheduler/breaker.py"
PAIRS = "scheduler/breaker_pairs.py"
POLICY = "scheduler/breaker_policy.py"
ECHO = "scheduler/echo.py"

AGENDA = "scheduler/agenda.py"
GATES = "scheduler/gates.py"
IDLE = "scheduler/idle.py"
INVALIDATION = "scheduler/invalidation.py"
ORDER = "scheduler/order.py"
RETRY = "scheduler/retry.py"
RUNNER = "scheduler/runner.py"
SCHEDULER = "scheduler/scheduler.py"
SETTLE = "scheduler/settle.py"
