"""Rows of gpus-exceeded that take judgement of their own."""
