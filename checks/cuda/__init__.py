"""CUDA toolkits, drivers and libraries."""
