"""Recorded and generated traffic, replayed through the runtime's own echo detector."""
