"""Rows of value-unknown that take judgement of their own."""
