"""Reads Python scripts without running them."""
