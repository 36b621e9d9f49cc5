"""Fixes of problems of the area gpu."""
