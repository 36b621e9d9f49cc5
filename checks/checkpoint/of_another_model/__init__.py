"""Rows of of-another-model that take judgement of their own."""
