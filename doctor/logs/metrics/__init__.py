"""Metrics in lines and files."""
