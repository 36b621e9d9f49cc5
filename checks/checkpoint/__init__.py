"""Checkpoints: saving, resuming, disk space."""
