"""Recorded logs held against a model: is what a system did a behaviour of it? What a mapping is made of is here."""

from .mapping import Did, Either, Mapping, Meaning, Saw

__all__ = ["Did", "Either", "Mapping", "Meaning", "Saw"]
