"""Fixes of rows of debug-variable-left-on."""
