"""Rows of batch-sizes-unfit that take judgement of their own."""
