"""Reads the launch command."""
