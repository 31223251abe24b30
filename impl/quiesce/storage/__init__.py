"""The client's side of the store: replica, transactions, the session with a server, and its transports."""
