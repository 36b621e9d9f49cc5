"""Rows of generation-batch-unfit that take judgement of their own."""
