"""What a pass allows, and how what does not converge is put off. Production uses the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConvergencePolicy:
    """Durations are milliseconds. Raises ``ValueError`` for what would let a loop spin or nothing run."""

    iterations: int = 10
    """Rounds of the settle loop in one pass."""
    run_budget: int = 10
    """Runs of one node in one pass."""
    backoff_base_ms: float = 250.0
    """The first backoff; each further one is twice as long."""
    backoff_max_ms: float = 2_000.0
    idle_hold_passes: int = 3
    """After so many backoffs between two idle moments, a node does not hold idle any more."""

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.run_budget < 1:
            raise ValueError("a pass has to allow one round and one run: set iterations and run_budget to 1 or more")
        if not 0 < self.backoff_base_ms <= self.backoff_max_ms:
            raise ValueError(
                f"the convergence backoff cannot grow from {self.backoff_base_ms:g} to {self.backoff_max_ms:g} ms: "
                "set a base above 0 and a maximum no shorter"
            )
