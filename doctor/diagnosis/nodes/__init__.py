"""Judges many nodes together."""
