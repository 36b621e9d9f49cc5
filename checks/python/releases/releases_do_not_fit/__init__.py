"""Rows of releases-do-not-fit that take judgement of their own."""
