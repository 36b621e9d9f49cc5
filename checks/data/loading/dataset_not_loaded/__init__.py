"""Rows of dataset-not-loaded that take judgement of their own."""
