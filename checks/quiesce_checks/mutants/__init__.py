"""Mutants: the runtime's own code, broken on purpose, to see whether lockstep notices."""
