"""The checks: explore, prove, compare; the command line."""
