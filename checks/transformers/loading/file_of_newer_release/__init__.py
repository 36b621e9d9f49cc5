"""Rows of file-of-newer-release that take judgement of their own."""
