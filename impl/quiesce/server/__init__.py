"""The server: what several sessions share, in one database for each space."""
