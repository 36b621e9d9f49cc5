"""Versions that fit each other, the driver, the GPUs and the Python, found by a real resolver."""
