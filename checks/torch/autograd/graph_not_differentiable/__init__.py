"""Rows of graph-not-differentiable that take judgement of their own."""
