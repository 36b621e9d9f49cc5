"""Rows of image-refused that take judgement of their own."""
