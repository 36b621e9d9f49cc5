"""Reads from the sources of libraries under which settings they refuse to start."""
