"""Rows of package-not-installed that take judgement of their own."""
