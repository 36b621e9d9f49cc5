"""Rows of nodes-differ that take judgement of their own."""
