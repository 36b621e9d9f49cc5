"""Fixes of rows of gpu-too-old."""
