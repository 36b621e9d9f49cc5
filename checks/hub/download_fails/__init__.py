"""Rows of download-fails that take judgement of their own."""
