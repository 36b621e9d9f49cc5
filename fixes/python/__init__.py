"""Fixes of problems of the area python."""
