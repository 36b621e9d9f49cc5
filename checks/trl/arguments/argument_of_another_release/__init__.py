"""Rows of argument-of-another-release that take judgement of their own."""
