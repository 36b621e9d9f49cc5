"""Rows of gpu-too-old that take judgement of their own."""
