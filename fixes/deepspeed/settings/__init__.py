"""Fixes of the area deepspeed: settings."""
