"""Rows of dtypes-unfit that take judgement of their own."""
