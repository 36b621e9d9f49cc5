"""Fixes of rows of gpus-exceeded."""
