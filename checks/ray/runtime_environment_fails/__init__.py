"""Rows of runtime-environment-fails that take judgement of their own."""
