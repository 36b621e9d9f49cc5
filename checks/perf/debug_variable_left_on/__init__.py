"""Rows of debug-variable-left-on that take judgement of their own."""
