"""Rows of limit-too-low that take judgement of their own."""
