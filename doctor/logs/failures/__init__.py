"""Failures of a run: tracebacks, processes, what was survived, retried or quoted."""
