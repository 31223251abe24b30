"""The serving arm: one runtime beside the server derives for the sessions that demand it, which then do not."""
