"""Reads the machine: GPUs, host, network, CUDA."""
