"""Fixes of the area vllm: serving and what is asked of servers."""
