"""Our own runtime behind the subject protocol, and the observation relations under which it is walked."""
