"""Fixes of the area vllm: memory of the engine."""
