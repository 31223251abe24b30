"""The constants of the remote-echo breaker, and the variants of its rules that can be switched on."""

from __future__ import annotations

from dataclasses import dataclass, fields

from quiesce.scheduler.echo import ALL_ORIGINS, Origin


class PolicyError(ValueError):
    """A policy whose constants do not make a breaker. The message names the constant and says what it
    must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """The breaker's constants (seed §1 and §2; times in whole milliseconds) and its named repairs.

    Each repair changes one rule of the seed and is off by default.

    ``evict_untripped_first``
        a full table gives up its oldest untripped pair, and a tripped one only when there is no other.
    ``kickoff_order``
        a step of a run whose commit was started before that of the pair's last step is ignored.
    ``clear_when_settled``
        a convergence step lifts the pair's deadline but keeps the pair for a settling period of one
        backoff cap, which each further convergence step starts anew. An echo within it (its last
        instant included) goes on where the pair was. When it has passed without one the pair is
        cleared.
    ``remote_causes_only``
        only a change that another session committed can make a document a candidate.
    ``ignore_own_reverts``
        the revert of the action's own rejected commit cannot.
    """

    echo_window_ms: int = 60_000
    echo_trip_threshold: int = 12
    echo_backoff_base_ms: int = 500
    echo_backoff_max_ms: int = 30_000
    echo_quiet_reset_ms: int = 120_000
    max_echo_pairs: int = 4_096
    evict_untripped_first: bool = False
    kickoff_order: bool = False
    clear_when_settled: bool = False
    remote_causes_only: bool = False
    ignore_own_reverts: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool):
                if not isinstance(value, bool):
                    raise PolicyError(f"{field.name} is {value!r}; give True or False")
            elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise PolicyError(f"{field.name} is {value!r}; give a whole number of at least 1")
        if self.echo_backoff_base_ms > self.echo_backoff_max_ms:
            raise PolicyError(
                f"echo_backoff_base_ms ({self.echo_backoff_base_ms}) is above echo_backoff_max_ms "
                f"({self.echo_backoff_max_ms}); the backoff doubles from its base up to its cap"
            )
        for name in ("echo_backoff_max_ms", "echo_window_ms"):
            if self.echo_quiet_reset_ms <= getattr(self, name):
                raise PolicyError(
                    f"echo_quiet_reset_ms ({self.echo_quiet_reset_ms}) is not above {name} "
                    f"({getattr(self, name)}); make it longer, or a loop that is held looks quiet"
                )

    @property
    def counted_origins(self) -> frozenset[Origin]:
        """The origins of the causes that can make a document a candidate."""
        if self.remote_causes_only:
            return frozenset({Origin.REMOTE})
        if self.ignore_own_reverts:
            return ALL_ORIGINS - {Origin.OWN_REVERT}
        return ALL_ORIGINS
