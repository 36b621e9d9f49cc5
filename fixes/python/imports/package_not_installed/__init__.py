"""Fixes of rows of package-not-installed."""
