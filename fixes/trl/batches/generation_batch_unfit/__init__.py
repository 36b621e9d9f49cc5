"""Fixes of rows of generation-batch-unfit."""
