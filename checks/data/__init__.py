"""Datasets, tokenizers and reward functions."""
