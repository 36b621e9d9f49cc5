"""NCCL and gloo: interfaces, variables, collectives."""
