"""Rows of scheduler-refuses that take judgement of their own."""
