"""Rows of amd-gpu-unusable that take judgement of their own."""
