"""What people read: verdicts, traces, tables, problems, progress. Everything here returns text and prints
nothing.
"""
