"""From a machine's own source to a transition relation: the only place that knows Python syntax."""
