"""The engines: each takes a relation and answers with verdicts."""
