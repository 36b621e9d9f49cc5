"""Rows of code-of-another-release that take judgement of their own."""
