"""Lockstep: an implementation walked beside its model, step for step."""

from .subject import Description, Observation, Refused, Subject, Value

__all__ = ["Description", "Observation", "Refused", "Subject", "Value"]
