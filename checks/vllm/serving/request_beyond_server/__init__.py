"""Rows of request-beyond-server that take judgement of their own."""
