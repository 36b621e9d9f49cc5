"""NCCL and its variables."""
