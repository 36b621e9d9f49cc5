"""Rows of parallel-size-unfit that take judgement of their own."""
