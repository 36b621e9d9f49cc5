"""Rows of import-fails that take judgement of their own."""
