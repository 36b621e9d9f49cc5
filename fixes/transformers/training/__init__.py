"""Fixes of the area transformers: training and generating."""
