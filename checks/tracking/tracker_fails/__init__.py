"""Rows of tracker-fails that take judgement of their own."""
