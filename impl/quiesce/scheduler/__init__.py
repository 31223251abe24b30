"""The scheduler: when each action runs, and what keeps one from running too often."""
