"""The runtime: a reactive scheduler for many writers, its store and its server."""
