"""Rows of called-wrongly that take judgement of their own."""
