"""Fixes of the area trl: arguments and data."""
