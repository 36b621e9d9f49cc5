"""Fixes of the area transformers: tokens and prompts."""
