"""The model: executable state machines of what must be true. Standard library only."""
