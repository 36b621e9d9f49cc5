"""Reads configuration files, models, datasets and checkpoints."""
