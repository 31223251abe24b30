"""The subcommands of ``quiesce``: parse, ask, render, exit. One file for each family."""
