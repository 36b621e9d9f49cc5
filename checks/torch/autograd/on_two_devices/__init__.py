"""Rows of on-two-devices that take judgement of their own."""
