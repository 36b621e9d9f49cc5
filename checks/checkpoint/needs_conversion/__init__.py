"""Rows of needs-conversion that take judgement of their own."""
