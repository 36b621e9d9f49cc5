"""Brings the guard into the processes of a command, without a change to its script."""
