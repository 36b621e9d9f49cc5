"""Rows of column-missing that take judgement of their own."""
