"""Kept rollouts."""
