"""Memory of GPUs and hosts."""
